"""The verdict on evidence that nobody arranged: a log, a paste, counters over a while; alone or against another one."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from inventory.models import Gate
from inventory.shell import command
from roles.acceptance import diagnosis_history
from roles.acceptance.advice import Advice, advise
from roles.acceptance.changes import Change, changes
from roles.acceptance.diagnosis import Cause, diagnose
from roles.acceptance.effect import Outcome
from roles.acceptance.lately import last_step, lately, moment
from roles.acceptance.reading import Reading
from roles.acceptance.series import Seen, stretches
from roles.acceptance.statistics import Comparison
from roles.acceptance.summary import Summary, summarise
from roles.acceptance.verdict import Verdict, decide
from roles.acceptance.version_facts import facts
from roles.acceptance.vllm_releases import differ
from roles.acceptance.window import PromptWindow, Window
from roles.conditions import Conditions

NOBODY = "NAME"
"""Stands in commands for the host of a log that nobody has named."""

_MOST_TOLD = 50


@dataclass(frozen=True)
class Judgement:
    """What the evidence says, and all that it says it from.

    label:    what was read, as the user named it
    host:     as the inventory names it; NOBODY for a log by itself
    reasons:  why this outcome, most important first; never empty
    against:  label of what it is compared with; change is None where the two cannot be compared
    """

    label: str
    outcome: Outcome
    reasons: tuple[str, ...]
    reading: Reading
    summary: Summary
    verdict: Verdict
    causes: tuple[Cause, ...] = ()
    cannot_tell: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    version_facts: tuple[str, ...] = ()
    advice: Advice | None = None
    host: str = NOBODY
    against: str | None = None
    before: Summary | None = None
    change: Comparison | None = None

    @property
    def next(self) -> str | None:
        """The next command; None after a pass that leaves nothing to look at."""
        if self.causes:
            return self.causes[0].next
        if self.outcome == "pass":
            return None
        if self.outcome == "fail":
            return command("invoke", "drafter", "--host", self.host)
        if self.host == NOBODY and not self.summary.seen:
            return 'invoke acceptance --log FILE      (the log of the server itself, with "SpecDecoding metrics" in it)'
        return f"{command('invoke', 'bench', '--host', self.host)}      (makes requests, and counts them)"

    def as_json(self) -> dict[str, object]:
        """The same facts for programs. Rates are fractions; what the evidence does not say is null."""
        summary, length = self.summary, self.verdict.length
        rate = summary.accepted / summary.drafted if summary.drafted and summary.accepted is not None else None
        return {
            "source": self.label,
            "verdict": self.outcome,
            "reasons": list(self.reasons),
            "rounds": summary.rounds,
            "drafted": summary.drafted,
            "accepted": summary.accepted,
            "speculative_tokens": summary.k,
            "acceptance_length": summary.length,
            "acceptance_length_interval": [length.low, length.high] if length else None,
            "acceptance_rate": rate,
            "per_position_rates": list(summary.window.per_position_rates),
            "accepted_per_s": summary.accepted_per_s,
            "windows": self.reading.kept,
            "thrown_out": [
                {"line": line.number, "reason": line.reason, "text": line.text}
                for line in self.reading.thrown_out[:_MOST_TOLD]
            ],
            "thrown_out_count": self.reading.reasons.total(),
            "thrown_out_reasons": dict(self.reading.reasons),
            "earlier": [_other_k(window) for window in summary.earlier],
            "engine": self.reading.engine,
            "engine_versions": list(self.reading.versions),
            "method": self.reading.method,
            "why_nothing": self.reading.why_nothing,
            "causes": [{**asdict(cause), "evidence": cause.why} for cause in self.causes],
            "cannot_tell": list(self.cannot_tell),
            "next": self.next,
            "changes": [_change(change) for change in self.changes],
            "advice": asdict(self.advice) if self.advice else None,
            "version_facts": list(self.version_facts),
            "notes": list(self.notes),
            "against": self.against,
            "baseline": _other_k(self.before.window) if self.before else None,
            "change": asdict(self.change) if self.change else None,
        }


def judge(reading: Reading, *, label: str, policy: Gate | None = None, host: str = NOBODY) -> Judgement:
    """Judge one log by itself: collapse, both tails, the floor, and what its own history shows. Pure.

    host: as the inventory names it, for the commands. How it is at the end of the log decides (`lately`), and a step
    down of more than policy.max_drop fails where another engine version begins; a slide is named.
    """
    policy = policy or Gate()
    summary = summarise(reading)
    windows = _samples(summary.seen)
    version = reading.versions[-1] if reading.versions else None
    conditions = Conditions(engine=version, k=summary.k)
    verdict = decide(policy, windows, None, conditions)
    mixture = diagnosis_history.mixture(summary.seen, host=host)
    found = () if mixture else changes(summary.seen)
    outcome, reasons = verdict.outcome, verdict.reasons
    if not windows:
        reasons = (f"no data: {reading.why_nothing}",)
    recent, since = verdict, None
    if mixture is None:  # else the end is as good or dead as the last request happens to be
        recent, since = lately(
            summary.seen, found, lambda seen: decide(policy, _samples(seen), None, conditions), verdict
        )
    if since and recent.outcome not in {outcome, "inconclusive"}:
        outcome, reasons = recent.outcome, (f"since {since}: {recent.reasons[0]}", f"all together: {reasons[0]}")
    elif (step := last_step(found)) and outcome == "pass" and step.relative < -policy.max_drop and _upgraded(step):
        outcome, reasons = "fail", (_fell(step), *reasons)
    method = reading.method or ("dflash" if summary.accepted else "unknown")
    diagnosis = diagnose(recent.window, None, host=host, method=method)
    told = [mixture] if mixture else diagnosis_history.causes(found, host=host)
    causes = without_twins([*told, *diagnosis.causes])
    notes = [note for note in verdict.notes if not note.startswith("no baseline")]
    if diagnosis.causes and reading.method is None and method == "dflash":
        notes.append("the log does not say the method of speculation: causes are told as for a DFlash drafter")
    if reading.layers and causes:
        notes.append(f"the engine reads the target's layers {reading.layers}: each of the config's ids plus 1 is right")
    return Judgement(
        label=label,
        host=host,
        outcome=outcome,
        reasons=reasons,
        reading=reading,
        summary=summary,
        verdict=verdict,
        causes=causes,
        cannot_tell=diagnosis.cannot_tell,
        changes=found,
        notes=tuple(dict.fromkeys([*notes, *_notes(reading, summary)])),
        version_facts=facts(version, reading.method, [cause.id for cause in causes])
        if version and windows and outcome != "pass"
        else (),
        advice=advise(summary.window),
    )


def _samples(seen: Sequence[Seen]) -> list[PromptWindow]:
    """What an interval takes for independent."""
    return [PromptWindow(str(i), window) for i, window in enumerate(stretches(seen))]


def _upgraded(step: Change) -> bool:
    old, new = step.first.version, step.last.version
    return old is not None and new is not None and differ(old, new)


def _fell(step: Change) -> str:
    upgrade = f" where vLLM {step.first.version} became {step.last.version}"
    return f"acceptance length fell from {step.before:.2f} to {step.after:.2f} at {moment(step.last)},{upgrade}"


def _notes(reading: Reading, summary: Summary) -> Iterator[str]:
    yield from reading.notes
    for window in summary.earlier:
        yield (
            f"earlier in it, at k={window.k}: length {window.acceptance_length or 1:.2f}, {window.rounds} rounds; "
            "not added, and acceptance rates at another k do not compare"
        )
    if reading.seen and reading.fragments:
        yield f"{len(reading.fragments)} more lines say too little to be counted: {reading.fragments[0].said}"


def without_twins(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Each cause once, where it stood first."""
    return tuple({cause.id: cause for cause in reversed(causes)}.values())[::-1]


def _other_k(window: Window) -> dict[str, object]:
    return {
        "speculative_tokens": window.k,
        "rounds": window.rounds,
        "drafted": window.drafted,
        "accepted": window.accepted,
        "acceptance_length": window.acceptance_length,
        "acceptance_rate": window.acceptance_rate,
        "per_position_rates": list(window.per_position_rates),
    }


def _change(change: Change) -> dict[str, object]:
    return {
        "kind": change.kind,
        "from": {"line": change.first.number, "at": change.first.at, "version": change.first.version},
        "to": {"line": change.last.number, "at": change.last.at, "version": change.last.version},
        "before": change.before,
        "after": change.after,
        "relative": change.relative,
        "p_value": change.p_value,
    }
