"""The check of a drafter as it lies on a host: its folder's config under the inventory's, with all that was read."""

from collections.abc import Iterator

from inventory.models import Drafter, Server
from roles.drafter.check import Report, check
from roles.drafter.config import merge
from roles.drafter.engines import UNKNOWN, EngineTraits
from roles.drafter.facts import DrafterFacts
from roles.drafter.finding import Finding


def wanted_config(drafter: Drafter, have: DrafterFacts) -> dict[str, object] | None:
    """The config that a release gets: the folder's, the inventory's merged over it; None where there is neither."""
    if have.drafter_config is None and not drafter.config:
        return None
    return merge(have.drafter_config or {}, drafter.config)


def assess(
    drafter: Drafter, have: DrafterFacts, engine: EngineTraits = UNKNOWN, server: Server | None = None
) -> Report:
    """Judge the drafter that `drafter` describes, in the folders that `have` was read from."""
    report = check(
        wanted_config(drafter, have),
        have.target_config,
        have.header,
        drafter,
        engine,
        added_tokens=have.added_tokens,
        server=server,
    )
    return Report(findings=(*_folders(drafter, have), *report.findings), unknowable=report.unknowable)


def _folders(drafter: Drafter, have: DrafterFacts) -> Iterator[Finding]:
    for name in ("target/config.json", "drafter/config.json"):
        if any(line.startswith(name) for line in have.unread):
            yield _error(
                "config-json", name.replace("target/", "model.path/"), "it is no JSON object", "download it again"
            )
    if have.target_config is None and not any(line.startswith("target/") for line in have.unread):
        yield _error("target-config", "model.path", "there is no config.json in that folder", "check model.path")
    if drafter.path is not None and have.header is None:
        others = [name for name in have.files if name.endswith((".bin", ".pt", ".pth", ".gguf"))]
        found = f"only {others[0]}" if others else "none" if have.files else "nothing at all"
        yield _error(
            "weights-missing",
            "drafter.path",
            f"weights as *.safetensors are wanted, {drafter.path} has {found}",
            "check drafter.path, or download the weights",
        )


def _error(rule: str, field: str, message: str, remedy: str) -> Finding:
    return Finding(rule=rule, severity="error", field=field, message=message, remedy=remedy)
