"""Starts that a real engine refuses, each recognised by its signature."""

import pytest

from inventory.models import Server, Target
from roles.engine.serve import serve
from roles.server.signatures import diagnose
from tests.engine.host import EngineHost
from tests.lab import tiny


@pytest.mark.parametrize(
    ("signature", "model", "server"),
    [
        ("no-config", "/nowhere/tiny-target", {}),
        ("arguments", None, {"args": ("--no-such-flag",)}),
        ("max-model-len", None, {"max_model_len": 100_000}),
        ("port", None, {"port": None}),
    ],
    ids=lambda value: value if isinstance(value, str) and "/" not in value else "",
)
def test_it_is_known_why(serving: EngineHost, signature: str, model: str | None, server: dict[str, object]) -> None:
    """The port that is in use is the running server's."""
    port = int(serving.url.rpartition(":")[2])
    wanted = Server.model_validate(
        {"port": 1 + port, "args": ("--enforce-eager",), **server, **({"port": port} if "port" in server else {})}
    )
    target = Target(path=model or str(serving.models / tiny.TARGET), served_name=tiny.TARGET)
    command = serve("vllm", str(serving.venv), target, wanted, None, str(serving.person.home / "cache"))
    ran = serving.runs(*("vllm", *command.argv[1:]), patience_s=300)
    assert ran.returncode != 0
    cause = diagnose(ran.stdout.splitlines())
    assert cause.signature is not None, ran.stdout[-3000:]
    assert cause.signature.id == signature, (cause, ran.stdout[-3000:])
