"""What every test may ask for."""

from collections.abc import Iterator

import pytest

from tests.lab.ground import Lab


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A practice ground of this test process's own. `lab.reset()` makes it as new."""
    with Lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever asks for the lab is marked as needing it."""
    for item in items:
        if "lab" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.lab)
