"""The check of a drafter as it lies on a host: its folder's config under the inventory's, with all that was read."""

from collections.abc import Iterator

from inventory.models import Drafter, Server
from roles.drafter.check import Report, check
from roles.drafter.config import merge
from roles.drafter.engines import UNKNOWN, EngineTraits
from roles.drafter.evidence import Said
from roles.drafter.facts import DrafterFacts
from roles.drafter.finding import Finding
from roles.drafter.launch import Launch
from roles.drafter.method import declared
from roles.drafter.rules import LAUNCH_RULES


def wanted_config(drafter: Drafter, have: DrafterFacts) -> dict[str, object] | None:
    """The config that a release gets: the folder's, the inventory's merged over it; None where there is neither."""
    if have.drafter_config is None and not drafter.config:
        return None
    return merge(have.drafter_config or {}, drafter.config)


def assess(
    drafter: Drafter,
    have: DrafterFacts,
    engine: EngineTraits = UNKNOWN,
    server: Server | None = None,
    *,
    gpus: tuple[str, ...] | None = None,
) -> Report:
    """Judge the drafter that `drafter` describes, in the folders that `have` was read from, for a host with `gpus`."""
    report = check(
        wanted_config(drafter, have),
        have.target_config,
        have.header,
        drafter,
        engine,
        added_tokens=have.added_tokens,
        server=server,
        gpus=gpus,
    )
    return Report(findings=(*_folders(drafter, have), *report.findings), unknowable=report.unknowable)


def assess_files(
    have: DrafterFacts,
    launch: Launch,
    engine: EngineTraits = UNKNOWN,
    *,
    method: str | None = None,
    repository: str | None = None,
    revision: str | None = None,
    config_wanted: bool = True,
) -> Report:
    """Judge files of which no inventory says what they are for: what was not given is not known, and no error.

    launch:        what will be passed to the engine, as far as it was said
    method:        said beside it; where neither says one, the config does
    config_wanted: false where only the launch is to be judged
    """
    config = have.drafter_config
    drafter = launch.drafter(method or declared(config or {}) or "draft_model", repository, revision)
    said: Said = "yes" if launch.tokens is not None else "no" if launch.is_known else "unknown"
    report = check(
        config if config_wanted else {},
        have.target_config,
        have.header,
        drafter,
        engine,
        added_tokens=have.added_tokens,
        server=launch.server,
        tokens_said=said,
    )
    broken = tuple(_broken(have))
    own = report.findings
    if not config_wanted:
        own = tuple(one for one in own if one.rule in LAUNCH_RULES)
    elif config is None and broken:
        own = ()  # what is broken says more than that there is none
    unknowable = report.unknowable if config_wanted else ()
    return Report(findings=(*broken, *launch.findings, *own), unknowable=unknowable)


def _broken(have: DrafterFacts) -> Iterator[Finding]:
    for name in ("target/config.json", "drafter/config.json"):
        if any(line.startswith(name) for line in have.unread):
            yield _error(
                "config-json", name.replace("target/", "model.path/"), "it is no JSON object", "download it again"
            )


def _folders(drafter: Drafter, have: DrafterFacts) -> Iterator[Finding]:
    yield from _broken(have)
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
