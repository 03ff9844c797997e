"""People at a prompt, and a host with a release that passed its gate."""

import pytest

from tests.e2e.host import Seen, look, serves
from tests.e2e.person import HOST, Person
from tests.lab.ground import Lab


@pytest.fixture(scope="session")
def person(lab: Lab) -> Person:
    """Somebody whose gate and bench are short and whose engine's clock is fast."""
    return Person(lab, lab.layout.folder / "person")


@pytest.fixture(scope="session")
def _promoted() -> dict[str, str | None]:
    """The release that `promoted` has made in this session."""
    return {"release": None}


@pytest.fixture
def promoted(lab: Lab, person: Person, _promoted: dict[str, str | None]) -> Seen:
    """ct129 with a promoted release, a server that answers, no fault and nobody at work. Made only where it is not so."""
    seen = look(lab)
    ours = seen.settled and seen.current == _promoted["release"]
    if not ours or lab.status()["faults"] or not serves(lab):
        lab.reset()
        said = person.types(f"deploy --host {HOST}")
        assert said.code == 0, said.all
        seen = look(lab)
        assert seen.settled
        _promoted["release"] = seen.current
    return seen
