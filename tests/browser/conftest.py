"""A browser, where there is one."""

import pytest

from tests.browser.chromium import CHROMIUM


@pytest.fixture(autouse=True)
def _browser() -> None:
    """Without a browser nothing can be said about pages in one."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed to look at pages with (apt-get install chromium)")
