"""Whether a server works: alive, the right model, and a completion that came back."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from inventory.errors import SpecrailError

Get = Callable[[str], tuple[int, str]]
"""GET a path of the server: (HTTP status, body). Raises UnreachableError when nothing answers."""


@dataclass(frozen=True)
class Health:
    """What a server answered.

    /health is 200 with a drafter that does not fit, so only `answers` (a completion that came back) means health.
    """

    alive: bool
    models: tuple[str, ...] = ()
    version: str | None = None
    answers: bool = False
    detail: str | None = None

    @property
    def serves(self) -> bool:
        """Whether it is worth asking for a completion."""
        return self.alive and bool(self.models)


def probe(get: Get) -> Health:
    """Ask /health, /v1/models and /version; no generation. Never raises for a server that does not answer."""
    try:
        status, _ = get("/health")
        if status != 200:
            return Health(alive=False, detail=f"/health answers {status}")
        status, body = get("/v1/models")
        if status != 200:
            return Health(alive=True, detail=f"/v1/models answers {status}")
        models = _names(body)
        _, version_body = get("/version")
    except SpecrailError as error:
        return Health(alive=False, detail=error.what)
    return Health(alive=True, models=models, version=_version(version_body))


def wrong_model(health: Health, wanted: str) -> str | None:
    """Why this server is not the one that was deployed, if it is not: a stale one may hold the port."""
    if wanted in health.models:
        return None
    return f"it serves {', '.join(health.models) or 'no model'}, not {wanted}"


def other_server(models: str, wanted: str, path: str | None, *, unit_runs: bool) -> str | None:
    """Why what answers is not the release's server, from the body of /v1/models; None when nothing speaks against it.

    path: of the release's model; vLLM tells the one that it has loaded as `root`, also under an equal served name.
    unit_runs: whether the service itself runs; where it does not, an older process holds the port
    """
    if not unit_runs:
        return "the release's service does not run: something else answers at its port"
    try:
        roots = {str(model["id"]): model.get("root") for model in json.loads(models)["data"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    root = roots.get(wanted)
    if path is not None and root is not None and root not in {path, wanted}:
        return f"what answers as {wanted} has loaded {root}, the release is of {path}: a stale server"
    return None


def _names(body: str) -> tuple[str, ...]:
    try:
        return tuple(str(model["id"]) for model in json.loads(body)["data"])
    except (ValueError, KeyError, TypeError):
        return ()


def _version(body: str) -> str | None:
    try:
        version = json.loads(body).get("version")
    except (ValueError, AttributeError):
        return None
    return str(version) if version is not None else None
