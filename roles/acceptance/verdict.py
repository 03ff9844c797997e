"""The one place that decides: pass, fail or inconclusive, with the reasons and the numbers behind them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from inventory.models import Gate
from roles.acceptance.baseline import Baseline
from roles.acceptance.collapse import EarlyLook, healthy_acceptance, look
from roles.acceptance.effect import SHORTER_BLOCK, Outcome, judge, noise_floor
from roles.acceptance.power import rounds_needed
from roles.acceptance.statistics import Comparison, Interval, acceptance_length, paired
from roles.acceptance.window import PromptWindow, Window, at_positions, faults, pool
from roles.conditions import PREVENTING, Conditions, differences

_NUMBER = re.compile(r"\d+")
_UNUSABLE = 0.1  # share of windows that may be thrown out before nothing is decided
_TOO_MANY = 20  # times what was measured: then it is the limit that is met, and nobody measures for so long
_SUSPECT_GAIN = 0.5  # relative; more than any right config gained over a wrong one that still passed
_LOOP_ROUNDS = 30  # fewer rounds may accept nearly everything by chance, or because the text is a list


@dataclass(frozen=True)
class Verdict:
    """What the gate says, and all that it says it from. Rates and relative changes are fractions.

    reasons:  why this outcome, most important first; never empty
    notes:    what limits the comparison, what was thrown out, what was odd; does not change the outcome
    window:   all that was counted, pooled
    length:   acceptance length with its interval; None without data
    baseline_length, change: None where there is no baseline, or none that can be compared
    early:    what the test for a collapse says; None without data
    noise_floor: what two runs of the baseline differ by, relative; a smaller drop is no failure. None: not measured
    """

    outcome: Outcome
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()
    window: Window = field(default_factory=Window)
    length: Interval | None = None
    baseline_release: str | None = None
    baseline_window: Window | None = None
    baseline_length: Interval | None = None
    change: Comparison | None = None
    early: EarlyLook | None = None
    noise_floor: float | None = None

    @property
    def collapsed(self) -> bool:
        """Whether the release is so bad that nothing more needs to be measured."""
        return self.early is not None and self.early.state == "collapsed"

    def as_json(self) -> dict[str, object]:
        """The same facts for programs."""
        return {
            "outcome": self.outcome,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "rounds": self.window.rounds,
            "drafted": self.window.drafted,
            "accepted": self.window.accepted,
            "speculative_tokens": self.window.k,
            "acceptance_length": None if self.length is None else asdict(self.length),
            "acceptance_rate": self.window.acceptance_rate,
            "per_position_rates": list(self.window.per_position_rates),
            "collapsed": self.collapsed,
            "baseline": None
            if self.baseline_window is None
            else {
                "release": self.baseline_release,
                "rounds": self.baseline_window.rounds,
                "speculative_tokens": self.baseline_window.k,
                "acceptance_length": None if self.baseline_length is None else asdict(self.baseline_length),
                "per_position_rates": list(self.baseline_window.per_position_rates),
            },
            "change": None if self.change is None else asdict(self.change),
            "noise_floor": self.noise_floor,
        }


def decide(
    policy: Gate, candidate: Sequence[PromptWindow], baseline: Baseline | None, conditions: Conditions
) -> Verdict:
    """Judge the windows of a release. Pure; nothing raises for odd counts.

    In this order: nothing counted or counts that contradict themselves are inconclusive; a collapse is a fail, whatever
    else; acceptance above policy.max_acceptance_rate is a fail (a repetition loop); then the floor, then the baseline.
    A drop fails only when it is both larger than policy.max_drop and statistically real at policy.confidence. What
    could not have been seen with so few rounds is inconclusive, never a pass.
    """
    kept = [prompt for prompt in candidate if prompt.window.rounds and not faults(prompt.window)]
    pooled = pool(prompt.window for prompt in kept)
    verdict = Verdict("inconclusive", (), window=pooled, length=acceptance_length(kept, policy.confidence))
    notes = [*_notes(candidate, conditions, pooled)]
    reference = None
    if baseline is None:
        notes.append("no baseline: the floor alone decides")
    else:
        differing = differences(vars(baseline.conditions), vars(conditions))
        notes += [f"not as for the baseline: {difference}" for difference in differing]
        if preventing := [one.name for one in differing if one.known and one.name in PREVENTING]:
            notes.append(
                f"not compared with the baseline, the floor alone decides: other work ({', '.join(preventing)})"
            )
        else:
            reference = [prompt for prompt in baseline.windows if prompt.window.rounds and not faults(prompt.window)]
            verdict = replace(
                verdict,
                baseline_release=baseline.release,
                baseline_window=pool(prompt.window for prompt in reference),
                baseline_length=acceptance_length(reference, policy.confidence),
            )
    verdict = replace(verdict, notes=tuple(notes))
    if unusable := _why_unusable(candidate, kept):
        return replace(verdict, reasons=(unusable,))
    healthy = healthy_acceptance(policy.min_acceptance_length, verdict.baseline_window)
    verdict = replace(verdict, early=look(pooled, healthy))
    for rule in (_collapse, _loop, _floor):
        if judged := rule(policy, verdict):
            return replace(verdict, outcome=judged[0], reasons=(judged[1],))
    return _against_baseline(policy, kept, reference, verdict, baseline.again if baseline else None)


def _notes(candidate: Sequence[PromptWindow], conditions: Conditions, pooled: Window) -> Iterator[str]:
    why = [broken[0] for prompt in candidate if (broken := faults(prompt.window))]
    why += [
        "; ".join(prompt.window.doubts) or "no drafts were made"
        for prompt in candidate
        if not prompt.window.rounds and not faults(prompt.window)
    ]
    kinds = {_NUMBER.sub("", reason): reason for reason in reversed(why)}  # of each kind the first one is told
    for kind, count in Counter(_NUMBER.sub("", reason) for reason in why).items():
        yield f"{count} of {len(candidate)} windows thrown out: {kinds[kind]}{' ...' if count > 1 else ''}"
    if mixed := sum(1 for prompt in candidate if prompt.mixed):
        yield f"{mixed} of {len(candidate)} windows hold other requests too: counted, but not compared by prompt"
    if conditions.k is not None and pooled.k is not None and conditions.k != pooled.k:
        yield f"the engine drafts {pooled.k} tokens a round, not the {conditions.k} that are wanted"
    yield from pooled.doubts


def _why_unusable(candidate: Sequence[PromptWindow], kept: Sequence[PromptWindow]) -> str | None:
    if not candidate:
        return "no data: nothing was measured"
    broken = [found[0] for prompt in candidate if (found := faults(prompt.window))]
    if len(broken) > _UNUSABLE * len(candidate):
        return f"the counts contradict themselves in {len(broken)} of {len(candidate)} windows: {broken[0]}"
    if not kept:
        doubts = [doubt for prompt in candidate for doubt in prompt.window.doubts]
        why = doubts[0] if doubts else "no drafts were made"
        return why if why.startswith("no data") else f"no data: {why}"
    return None


def _collapse(_policy: Gate, verdict: Verdict) -> tuple[Outcome, str] | None:
    if not verdict.collapsed:
        return None
    rate = verdict.window.acceptance_rate or 0.0
    return "fail", f"collapsed: {100 * rate:.1f} % of the drafted tokens are accepted"


def _loop(policy: Gate, verdict: Verdict) -> tuple[Outcome, str] | None:
    rate, rounds = verdict.window.acceptance_rate, verdict.window.rounds
    if rate is None or rate <= policy.max_acceptance_rate:
        return None
    high = f"{100 * rate:.1f} % of the drafted tokens are accepted, above {100 * policy.max_acceptance_rate:g} %"
    if rounds < _LOOP_ROUNDS:
        return "inconclusive", f"{high}, but in {rounds} rounds only"
    return "fail", f"{high}: the text is most likely a repetition loop"


def _floor(policy: Gate, verdict: Verdict) -> tuple[Outcome, str] | None:
    length, floor = verdict.length, policy.min_acceptance_length
    if length is None:
        return "inconclusive", "no interval: the counts say neither positions nor speculative tokens"
    if length.high < floor:
        return "fail", f"acceptance length {length.estimate:.2f} is below the floor of {floor:g}"
    if length.low < floor:
        need = None
        if length.estimate != floor:
            need = rounds_needed(verdict.window, abs(1 - floor / length.estimate), confidence=policy.confidence, arms=1)
        more = f"; about {need} rounds would tell" if need and 1 < need / verdict.window.rounds < _TOO_MANY else ""
        rounds = verdict.window.rounds
        return "inconclusive", f"{rounds} rounds cannot tell {length.estimate:.2f} from the floor of {floor:g}{more}"
    return None


def _against_baseline(
    policy: Gate,
    kept: Sequence[PromptWindow],
    reference: Sequence[PromptWindow] | None,
    verdict: Verdict,
    again: Comparison | None,
) -> Verdict:
    above = "acceptance length is above the floor"
    if reference is None:
        return replace(verdict, outcome="pass", reasons=(above,))
    alone = [prompt for prompt in kept if not prompt.mixed]
    new, old, positions, largest_drop, notes = _at_equal_k(policy, alone, reference)
    change = paired(new, old, policy.confidence)
    if change is None:
        notes = (
            *verdict.notes,
            *notes,
            "not compared with the baseline, the floor alone decides: too few prompts in common",
        )
        return replace(verdict, outcome="pass", reasons=(above,), notes=notes)
    floor = None if again is None else noise_floor(again, change.prompts)
    rounds = min(sum(prompt.window.rounds for prompt in side) for side in (new, old))
    against = "the baseline" + (f" over the first {positions} positions" if positions else "")
    outcome, reason = judge(change, largest_drop, against=against, rounds=rounds, floor=floor or 0.0)
    if change.relative > _SUSPECT_GAIN:
        notes = (*notes, "so much more is suspect too: a text that repeats itself is easy to draft (read an answer)")
    if again is not None and floor is not None:
        notes = (*notes, f"noise floor {100 * floor:.1f} %: {again.prompts} of the baseline's prompts were run twice")
    return replace(
        verdict,
        outcome=outcome,
        reasons=(reason,),
        notes=(*verdict.notes, *notes),
        change=change,
        noise_floor=floor,
    )


def _at_equal_k(
    policy: Gate, new: Sequence[PromptWindow], old: Sequence[PromptWindow]
) -> tuple[Sequence[PromptWindow], Sequence[PromptWindow], int | None, float, tuple[str, ...]]:
    """Both sides cut to the positions that they share where k differs.

    With them how many positions that are (None: all), the largest drop that passes then, and notes.
    """
    k_new, k_old = ({prompt.window.k for prompt in side if prompt.window.k is not None} for side in (new, old))
    if len(k_new | k_old) <= 1:
        return new, old, None, policy.max_drop, ()
    k = min(k_new | k_old)
    note = f"approximate: k differs, compared over the first {k} positions"
    longer = max(k_new, default=0) > k
    if longer:
        note += f"; {100 * SHORTER_BLOCK:g} % allowed for what a longer block costs them"
    largest_drop = policy.max_drop + (SHORTER_BLOCK if longer else 0.0)
    return at_positions(new, k), at_positions(old, k), k, largest_drop, (note,)
