"""Which engine answers at a URL, as it says itself: for servers that no inventory describes."""

import json
from collections.abc import Callable, Mapping

from inventory.errors import ServerError, SpecrailError
from roles.load.sglang import conditions_in
from roles.load.values import row, text

Ask = Callable[[str], tuple[int, str]]
"""Gets a path: the status and the body. May raise SpecrailError."""


def conditions_of(ask: Ask) -> dict[str, object]:
    """Engine, model and how tokens are drafted, as far as the server says it: SGLang does, vLLM only its version."""
    if info := server_info(ask):
        return conditions_in(info)
    version = text(_json(ask, "/version"), "version")
    return {"engine": f"vllm {version}"} if version else {}


def served_models(ask: Ask) -> tuple[str, ...]:
    """The names of the models that are served. Raises UnreachableError, and ServerError for no such answer."""
    status, body = ask("/v1/models")
    names = tuple(name for one in row(_object(body), "data") if (name := text(one, "id")))
    if status == 200 and names:
        return names
    wants_key = status in {401, 403}
    raise ServerError(
        f"it does not say which models it serves: {'it wants an API key' if wants_key else f'HTTP {status}'}",
        why=[] if wants_key else ["A server with OpenAI's API lists them at /v1/models."],
        tries=["--key env:NAME"] if wants_key else ["the server's root, without a path: http://10.0.0.7:30000"],
    )


def server_info(ask: Ask) -> Mapping[str, object]:
    """SGLang's whole answer about itself; {} of another engine (vLLM has another one at that path in its dev mode)."""
    info = _json(ask, "/server_info")
    return info if "model_path" in info else {}


def _json(ask: Ask, path: str) -> Mapping[str, object]:
    """The JSON object at a path; {} where there is none."""
    try:
        status, body = ask(path)
    except SpecrailError:
        return {}
    return _object(body) if status == 200 else {}


def _object(body: str) -> Mapping[str, object]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}
