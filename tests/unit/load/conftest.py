"""A real server for the client's tests, and shorthand for what the pure ones are fed with."""

from collections.abc import Iterator

import pytest

from roles.load.endpoint import Endpoint
from tests.unit.load.engine import MODEL, Engine


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.close()


@pytest.fixture
def endpoint(engine: Engine) -> Endpoint:
    return Endpoint(engine.url, MODEL)
