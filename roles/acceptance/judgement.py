"""The verdict on evidence that nobody arranged: a log, a paste, counters over a while; alone or against another one."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from inventory.models import Gate
from roles.acceptance import diagnosis_history
from roles.acceptance.advice import Advice, advise
from roles.acceptance.changes import Change, changes
from roles.acceptance.conditions import Conditions, Difference
from roles.acceptance.diagnosis import Cause, diagnose
from roles.acceptance.reading import Reading
from roles.acceptance.series import Seen
from roles.acceptance.statistics import Comparison
from roles.acceptance.summary import Summary, summarise
from roles.acceptance.unpaired import unpaired
from roles.acceptance.verdict import Outcome, Verdict, decide
from roles.acceptance.version_facts import facts
from roles.acceptance.vllm_releases import differ
from roles.acceptance.window import PromptWindow, Window

_SHORTER_BLOCK = 0.12  # as for the gate: what early positions gain when k falls from 15 to 5
_MOST_TOLD = 50


@dataclass(frozen=True)
class Judgement:
    """What the evidence says, and all that it says it from.

    label:    what was read, as the user named it
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
    against: str | None = None
    before: Summary | None = None
    change: Comparison | None = None

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
            "changes": [_change(change) for change in self.changes],
            "advice": asdict(self.advice) if self.advice else None,
            "version_facts": list(self.version_facts),
            "notes": list(self.notes),
            "against": self.against,
            "baseline": _other_k(self.before.window) if self.before else None,
            "change": asdict(self.change) if self.change else None,
        }


def judge(reading: Reading, *, label: str, policy: Gate | None = None, host: str = "NAME") -> Judgement:
    """Judge one log by itself: collapse, both tails, the floor, and what its own history shows. Pure.

    host: as the inventory names it, for the commands. Also what came after the last step is judged by itself, and a
    step down of more than policy.max_drop fails where another engine version begins; a slide is named.
    """
    policy = policy or Gate()
    summary = summarise(reading)
    windows = [PromptWindow(str(i), one.window) for i, one in enumerate(summary.seen)]
    version = reading.versions[-1] if reading.versions else None
    verdict = decide(policy, windows, None, Conditions(engine=version, k=summary.k))
    found = changes(summary.seen)
    outcome, reasons = verdict.outcome, verdict.reasons
    if not windows:
        reasons = (f"no data: {reading.why_nothing}",)
    now, since = _since_last_step(summary.seen, found)
    recent = decide(policy, now, None, Conditions(engine=version, k=summary.k)) if since else verdict
    if since and recent.outcome == "fail" and outcome != "fail":
        outcome, reasons = "fail", (f"since {_at(since)}: {recent.reasons[0]}", *reasons)
    elif since and outcome == "pass" and since.relative < -policy.max_drop and _upgraded(since):
        outcome, reasons = "fail", (_fell(since), *reasons)
    method = reading.method or ("dflash" if summary.accepted else "unknown")
    diagnosis = diagnose(recent.window, None, host=host, method=method)
    causes = _without_twins([*diagnosis_history.causes(summary.seen, found, host=host), *diagnosis.causes])
    notes = [note for note in verdict.notes if not note.startswith("no baseline")]
    if diagnosis.causes and reading.method is None and method == "dflash":
        notes.append("the log does not say the method of speculation: causes are told as for a DFlash drafter")
    if reading.layers and causes:
        notes.append(f"the engine reads the target's layers {reading.layers}: each of the config's ids plus 1 is right")
    told = [*notes, *_notes(reading, summary)]
    return Judgement(
        label=label,
        outcome=outcome,
        reasons=reasons,
        reading=reading,
        summary=summary,
        verdict=verdict,
        causes=causes,
        cannot_tell=diagnosis.cannot_tell,
        changes=found,
        notes=tuple(dict.fromkeys(told)),
        version_facts=facts(version, reading.method) if version and (causes or outcome == "fail") else (),
        advice=advise(summary.window),
    )


def compare(before: Judgement, after: Judgement, *, policy: Gate | None = None, host: str = "NAME") -> Judgement:
    """Judge `after` with `before` as its baseline. Pure.

    A drop fails only when it is both larger than policy.max_drop and statistically real. Acceptance rates are never
    compared; where k differs, the first positions that both have are, and that is said.
    """
    policy = policy or Gate()
    after = replace(after, against=before.label, before=before.summary)
    if after.outcome == "inconclusive" and not after.summary.seen:
        return after
    old, new = ([one.window for one in side.summary.seen] for side in (before, after))
    found = unpaired(old, new, policy.confidence)
    differing = tuple(_differing(before, after))
    notes = [*after.notes, *(f"not as before: {difference}" for difference in differing)]
    if found is None:
        why = "the earlier one has no window" if not old else "k differs and positions are not known on both sides"
        reasons = (f"cannot be compared: {why}", *after.reasons)
        outcome: Outcome = "fail" if after.outcome == "fail" else "inconclusive"
        return replace(after, outcome=outcome, reasons=reasons, notes=tuple(notes))
    shorter = 0.0
    if found.positions is not None:
        k_old, k_new = before.summary.k, after.summary.k
        notes.append(
            f"k differs ({k_old} -> {k_new}): acceptance rates do not compare; the lengths are over the first "
            f"{found.positions} positions, approximately"
        )
        shorter = _SHORTER_BLOCK if (k_new or 0) > (k_old or 0) else 0.0
    outcome, reason = _judge(found.change, policy, policy.max_drop + shorter)
    diagnosis = diagnose(
        found.after,
        found.before,
        host=host,
        method=after.reading.method or "dflash",
        differing=differing if found.positions is None else (),
    )
    reasons = (reason, *(() if after.outcome == "pass" else after.reasons))
    if after.outcome == "fail":
        outcome, reasons = "fail", (*after.reasons, reason)
    elif after.outcome == "inconclusive" and outcome == "pass":
        outcome = "inconclusive"
    causes = _without_twins([*(diagnosis.causes if outcome != "pass" else ()), *after.causes])
    version = after.reading.versions[-1] if after.reading.versions else None
    return replace(
        after,
        outcome=outcome,
        reasons=reasons,
        causes=causes,
        cannot_tell=diagnosis.cannot_tell if outcome != "pass" else after.cannot_tell,
        notes=tuple(dict.fromkeys(notes)),
        change=found.change,
        version_facts=facts(version, after.reading.method) if version and outcome == "fail" else after.version_facts,
    )


def _judge(change: Comparison, policy: Gate, largest_drop: float) -> tuple[Outcome, str]:
    size = f"acceptance length {100 * change.relative:+.1f} % ({100 * change.low:+.1f} to {100 * change.high:+.1f} %)"
    if -change.relative > largest_drop:
        if change.p_value < 1 - policy.confidence:
            return "fail", f"{size}: more than {100 * largest_drop:g} % less than before"
        return "inconclusive", f"{size}: may be chance, more rounds would tell"
    if change.low < -largest_drop:
        return "inconclusive", f"{size}: a drop of {100 * largest_drop:g} % could not have been seen"
    return "pass", f"{size} against before"


def _differing(before: Judgement, after: Judgement) -> Iterator[Difference]:
    old, new = before.reading, after.reading
    if old.engine is not None and new.engine is not None and old.engine != new.engine:
        yield Difference("engine", old.engine, new.engine)
    elif old.versions and new.versions and differ(old.versions[-1], new.versions[-1]):
        yield Difference("engine", f"vLLM {old.versions[-1]}", f"vLLM {new.versions[-1]}")
    if old.method != new.method and None not in (old.method, new.method):
        yield Difference("drafter", old.method, new.method)
    if before.summary.k != after.summary.k:
        yield Difference("k", before.summary.k, after.summary.k)


def _since_last_step(seen: Sequence[Seen], found: Sequence[Change]) -> tuple[list[PromptWindow], Change | None]:
    """The windows since the last step, and that step; all of them without one."""
    steps = [change for change in found if change.kind == "step"]
    last = steps[-1] if steps else None
    begin = next((i for i, one in enumerate(seen) if last is not None and one is last.last), 0)
    return [PromptWindow(str(i), one.window) for i, one in enumerate(seen[begin:])], last


def _upgraded(step: Change) -> bool:
    old, new = step.first.version, step.last.version
    return old is not None and new is not None and differ(old, new)


def _at(step: Change) -> str:
    return step.last.at or f"line {step.last.number}"


def _fell(step: Change) -> str:
    upgrade = f" where vLLM {step.first.version} became {step.last.version}"
    return f"acceptance length fell from {step.before:.2f} to {step.after:.2f} at {_at(step)},{upgrade}"


def _notes(reading: Reading, summary: Summary) -> Iterator[str]:
    yield from reading.notes
    for window in summary.earlier:
        yield (
            f"earlier in it, at k={window.k}: length {window.acceptance_length or 1:.2f}, {window.rounds} rounds; "
            "not added, and acceptance rates at another k do not compare"
        )
    if reading.seen and reading.fragments:
        yield f"{len(reading.fragments)} more lines say too little to be counted: {reading.fragments[0].said}"


def _without_twins(causes: Sequence[Cause]) -> tuple[Cause, ...]:
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
