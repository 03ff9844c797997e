"""These tests need an NVIDIA GPU; without one they are skipped, and say what is missing."""

from pathlib import Path

import pytest

from inventory.secrets import Redactor
from tests.gpu.doctor import Doctor, doctor
from tests.gpu.here import HereShell

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them are marked: the plain run leaves them out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session")
def found() -> Doctor:
    """What this machine says. Skips where it has no GPU."""
    seen = doctor(HereShell(Redactor()), None)
    if not seen.facts.gpus:
        pytest.skip(f"no NVIDIA GPU here: {'; '.join(one.message for one in seen.findings) or 'none is listed'}")
    return seen
