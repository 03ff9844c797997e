"""What every test may ask for."""

import json
from collections.abc import Iterator

import pytest

from tests.lab.ground import Lab
from tests.lab.published import VERSIONS, Published


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A practice ground of this test process's own. `lab.reset()` makes it as new.

    At its end, whatever any test made specrail send to the node's API must be in Proxmox's own published schema.
    """
    with Lab(tmp_path_factory.mktemp("lab")) as running:
        yield running
    not_published = sorted(set(_not_published(running)))
    assert not not_published, "\n".join(not_published)


def _not_published(lab: Lab) -> Iterator[str]:
    published = [Published(version) for version in VERSIONS]
    traffic = lab.layout.logs / "traffic.jsonl"
    if not traffic.exists():  # no test made anybody come
        return
    for line in traffic.read_text(encoding="utf-8").splitlines():
        seen = json.loads(line)
        if seen["machine"] == "api" and seen["client"] == "specrail":
            for schema in published:
                yield from schema.complaints(seen["what"], seen["text"].removeprefix("/api2/json"), seen["params"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever asks for the lab is marked as needing it."""
    for item in items:
        if "lab" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.lab)
