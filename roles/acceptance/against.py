"""One piece of evidence against another: two logs, two releases, before and after."""

from collections.abc import Iterator
from dataclasses import replace

from inventory.models import Gate
from inventory.shell import command
from roles.acceptance import effect, speed
from roles.acceptance.diagnosis import Cause, diagnose
from roles.acceptance.effect import SHORTER_BLOCK, Outcome, noise_floor
from roles.acceptance.judgement import NOBODY, Judgement, without_twins
from roles.acceptance.speed import Pace
from roles.acceptance.statistics import paired
from roles.acceptance.unpaired import REQUESTS_DIFFER, Measured, unpaired
from roles.acceptance.version_facts import facts
from roles.acceptance.vllm_releases import differ
from roles.acceptance.window import PromptWindow, at_positions, pool
from roles.conditions import PREVENTING, Difference, differences

_SAME_SPEED = 0.05
_MUCH_SLOWER = 0.15


def compare(before: Judgement, after: Judgement, *, policy: Gate | None = None, host: str = NOBODY) -> Judgement:
    """Judge `after` with `before` as its baseline. Pure.

    A drop fails only when it is both larger than policy.max_drop and statistically real. Acceptance rates are never
    compared; where k differs, the first positions that both have are, and that is said.
    """
    policy = policy or Gate()
    after = replace(after, against=before.label, before=before.summary)
    if after.outcome == "inconclusive" and not after.summary.seen:
        return after
    pace = speed.compare(before.reading.speeds, after.reading.speeds)
    differing = tuple(_differing(before, after))
    notes = [*after.notes, *(f"not as before: {difference}" for difference in differing)]
    other_work = [one.name for one in differing if one.known and one.name in PREVENTING]
    if not other_work and not before.summary.seen and before.reading.speeds and not before.reading.fragments:
        return _against_none(replace(after, notes=tuple(notes)), pace, host)
    found = None if other_work else _found(before, after, policy.confidence)
    if found is None:
        why = "k differs and positions are not known on both sides"
        if other_work:
            why = f"other work ({', '.join(other_work)})"
        elif not before.summary.seen:
            why = "the earlier one has no window"
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
        shorter = SHORTER_BLOCK if (k_new or 0) > (k_old or 0) else 0.0
    floor = None
    if found.paired and before.reading.again is not None:
        floor = noise_floor(before.reading.again, found.change.prompts)
        notes.append(f"noise floor {100 * floor:.1f} %: {before.reading.again.prompts} prompts were run twice before")
    if found.assumed:
        notes.append(f"few windows: requests are taken to differ by {100 * REQUESTS_DIFFER:g} % in what they accept")
    outcome, reason = effect.judge(
        found.change,
        policy.max_drop + shorter,
        against="before",
        rounds=min(found.before.rounds, found.after.rounds),
        paired=found.paired,
        floor=floor or 0.0,
    )
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
    slower = _slower(pace, after, host) if outcome == "pass" else None
    causes = without_twins(
        [*(diagnosis.causes if outcome != "pass" else ()), *after.causes, *([slower] if slower else [])]
    )
    version = after.reading.versions[-1] if after.reading.versions else None
    return replace(
        after,
        outcome=outcome,
        reasons=reasons,
        causes=causes,
        cannot_tell=diagnosis.cannot_tell if outcome != "pass" else after.cannot_tell,
        notes=tuple(dict.fromkeys(notes)),
        change=found.change,
        version_facts=facts(version, after.reading.method, [cause.id for cause in causes])
        if version and outcome == "fail"
        else after.version_facts,
    )


def _against_none(after: Judgement, pace: Pace | None, host: str) -> Judgement:
    """Against the same server without speculation only speed can be compared, and being slower is a failure."""
    if pace is None:
        reasons = ("cannot be compared: no drafts before, and never as many requests running at once", *after.reasons)
        return replace(after, outcome="fail" if after.outcome == "fail" else "inconclusive", reasons=reasons)
    size = f"{pace.before:.1f} -> {pace.after:.1f} tokens/s ({100 * pace.relative:+.0f} %) at {pace.running} running"
    if pace.relative >= -_SAME_SPEED:
        return replace(after, reasons=(f"against no speculation: {size}", *after.reasons))
    slower = Cause(
        "slower-than-no-speculation",
        "verifying costs more than is accepted: too many tokens a round, too many requests at once, a long context",
        size,
        command("invoke", "tune", "--host", host),
    )
    reasons = (f"slower than without speculation: {size}", *after.reasons)
    return replace(after, outcome="fail", reasons=reasons, causes=without_twins([*after.causes, slower]))


def _slower(pace: Pace | None, after: Judgement, host: str) -> Cause | None:
    """As much is accepted as before, and less comes out."""
    if pace is None or pace.relative > -_MUCH_SLOWER:
        return None
    k = f" at k={after.summary.k}" if after.summary.k is not None else ""
    return Cause(
        "slower-at-equal-acceptance",
        "a round takes longer: a larger k, longer contexts, other kernels, or something else on the GPU",
        f"{pace.before:.1f} -> {pace.after:.1f} tokens/s ({100 * pace.relative:+.0f} %){k}, {pace.running} running",
        command("invoke", "bench", "--host", host),
    )


def _found(before: Judgement, after: Judgement, confidence: float) -> Measured | None:
    """Prompt by prompt where both ran the same, else as two samples of requests; None where they share nothing."""
    return _by_prompt(before, after, confidence) or unpaired(before.summary.seen, after.summary.seen, confidence)


def _by_prompt(before: Judgement, after: Judgement, confidence: float) -> Measured | None:
    """Two gates' measurements, compared prompt by prompt; None for anything else."""
    sides = [
        [PromptWindow(one.prompt, one.window) for one in side.summary.seen if one.prompt is not None]
        for side in (before, after)
    ]
    whole = all(len(side) == len(of.summary.seen) for side, of in zip(sides, (before, after), strict=True))
    sizes = {of.summary.k for of in (before, after)}
    if not whole or None in sizes:
        return None
    positions = None
    if len(sizes) > 1:
        positions = min(size for size in sizes if size is not None)
        sides = [at_positions(side, positions) for side in sides]
    change = paired(sides[1], sides[0], confidence)
    if change is None:
        return None
    old, new = (pool(prompt.window for prompt in side) for side in sides)
    return Measured(change, positions, old, new, paired=True)


def _differing(before: Judgement, after: Judgement) -> Iterator[Difference]:
    old, new = before.reading, after.reading
    if old.conditions is not None and new.conditions is not None:
        yield from differences(vars(old.conditions), vars(new.conditions))
        return
    if old.engine is not None and new.engine is not None and old.engine != new.engine:
        yield Difference("engine", old.engine, new.engine)
    elif old.versions and new.versions and differ(old.versions[-1], new.versions[-1]):
        yield Difference("engine", f"vLLM {old.versions[-1]}", f"vLLM {new.versions[-1]}")
    if old.method != new.method and None not in (old.method, new.method):
        yield Difference("drafter", old.method, new.method)
    if before.summary.k != after.summary.k:
        yield Difference("k", before.summary.k, after.summary.k)
