"""Whether a drafter's config is right: every rule asked, and what no rule can know said as plainly."""

from collections.abc import Mapping
from dataclasses import dataclass

from inventory.models import Drafter, Server
from roles.drafter.engines import UNKNOWN, EngineTraits
from roles.drafter.evidence import Evidence, Said
from roles.drafter.finding import Finding
from roles.drafter.header import Header
from roles.drafter.rules import RULES
from roles.drafter.target import target_view
from roles.drafter.view import view

_ORDER = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class Unknowable:
    """A field that no check can decide here, and why."""

    field: str
    why: str


@dataclass(frozen=True)
class Report:
    """What a check found: findings, errors first, and what it could not know."""

    findings: tuple[Finding, ...]
    unknowable: tuple[Unknowable, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return all(finding.severity != "error" for finding in self.findings)


def check(
    config: object,
    target: object,
    header: Header | None,
    drafter: Drafter,
    engine: EngineTraits = UNKNOWN,
    *,
    added_tokens: Mapping[int, str] | None = None,
    server: Server | None = None,
    tokens_said: Said = "yes",
    gpus: tuple[str, ...] | None = None,
) -> Report:
    """Judge a drafter. Any JSON may stand in `config` and `target`: what is wrong is a finding, never an exception.

    config:       the drafter's config.json, the inventory's overlay merged in; None for methods without one
    target:       the target's config.json; None when it is not known
    header:       of the drafter's weights; None when they were not read
    engine:       traits(version, pull request) of the build that will run it
    added_tokens: the target tokenizer's added tokens, id -> text
    server:       how it will be served
    tokens_said:  whether drafter.tokens was said at all
    gpus:         names of the GPUs that it will run on; None when they are not known
    """
    if not isinstance(config, dict):
        config, broken = {}, config is not None or drafter.path is not None
    else:
        broken = False
    evidence = Evidence(
        view=view(config),
        drafter=drafter,
        engine=engine,
        target=target_view(target) if isinstance(target, dict) else None,
        header=header,
        added_tokens=added_tokens,
        server=server,
        tokens_said=tokens_said,
        gpus=gpus,
    )
    if broken:
        return Report(findings=(_NO_CONFIG,), unknowable=())
    findings = [finding for rule in RULES for finding in rule.check(evidence)]
    return Report(
        findings=tuple(sorted(findings, key=lambda finding: _ORDER[finding.severity])),
        unknowable=_unknowable(evidence),
    )


_NO_CONFIG = Finding(
    rule="config",
    severity="error",
    field="config.json",
    message="there is none, or it is no JSON object: the engine does not start",
    remedy="drafter.config: the published config of the same revision, or what drafter.infer makes of the weights",
)


def _unknowable(evidence: Evidence) -> tuple[Unknowable, ...]:
    if evidence.drafter.method != "dflash":
        return ()
    view = evidence.view
    fields = {
        "mask_token_id": (view.mask_field, "it is not in the weights; only the published config tells"),
        "target_layer_ids": (view.ids_field, "the weights tell their number only; a formula can propose them"),
        "layer_types": ("layer_types", "neither they nor the window are in the weights"),
        "block_size": (view.block_field, "it is not in the weights; engines do not read it"),
    }
    unknown = [Unknowable(field, why) for name, (field, why) in fields.items() if evidence.settled(name) is None]
    unknown.append(Unknowable("rope_theta", "it is not in the weights; the target's is likely"))
    unknown.append(Unknowable("model.path", "shapes cannot tell targets of one size apart"))
    if evidence.header is None:
        unknown.append(Unknowable("weights", "their header was not read"))
    if evidence.engine.layer_types is None:
        unknown.append(Unknowable("engine", "its version is not known: what it does with this config was not checked"))
    return tuple(unknown)
