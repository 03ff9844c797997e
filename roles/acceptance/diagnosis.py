"""From the whole curve of a bad window to what most likely caused it, and to what acceptance cannot tell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from inventory.shell import command
from roles.acceptance.effect import SHORTER_BLOCK
from roles.acceptance.shapes import Shape, most_like
from roles.acceptance.statistics import round_variance
from roles.acceptance.window import Window, first_positions
from roles.conditions import Difference

_ENOUGH_ROUNDS = 15
_GOOD_LENGTH = 2.0  # without a baseline: shorter ones are looked at
_REAL_DROP = 0.05  # the same configuration measured twice differs by a few percent
_REAL_SIGMAS = 2.0
_NEAR_ONE = 0.98
_NEAR_ZERO = 0.05


@dataclass(frozen=True)
class Cause:
    """Something that would explain the window: a stable id, one line for people, the evidence, and what to do next."""

    id: str
    cause: str
    why: str
    next: str


@dataclass(frozen=True)
class Diagnosis:
    """Causes, most likely first, and what cannot be told from acceptance. Both are empty for a healthy window."""

    causes: tuple[Cause, ...] = ()
    cannot_tell: tuple[str, ...] = ()


_LAYERS_NAMED = frozenset({"several-fields-wrong", "nothing-accepted"})  # they say to look at the layer ids anyway

_FIELDS = {
    "several-fields-wrong": (
        "several drafter fields are wrong at once: mask token, layer ids, layer types",
        "0.13-0.20 then nothing",
    ),
    "mask-token-is-used": (
        "mask_token_id is a token that the vocabulary uses",
        "position 0 keeps its 0.62, then 0.15 and next to nothing",
    ),
    "mask-token-is-another-unused": (
        "mask_token_id is another unused token than the one it was trained with",
        "position 0 halves, then 0.11 0.03",
    ),
    "sliding-layers-as-full": (
        "sliding-window layers run as full attention: wrong layer_types, or an engine that ignores it, as 0.20-0.24 do",
        "everything halves from position 0: 0.37 0.14 0.07 0.03",
    ),
}


def diagnose(
    window: Window,
    baseline: Window | None = None,
    *,
    host: str,
    method: str = "dflash",
    differing: Sequence[Difference] = (),
    flags: Sequence[str] = (),
    reverts: bool = False,
) -> Diagnosis:
    """What the pooled window of a release looks like. Pure.

    host:      as the inventory names it, for the commands
    method:    of speculation; the shapes were measured with DFlash and are offered for it only
    differing: conditions that differ from the baseline's
    flags:     what else the drafter's check must be given to look at the config that ran
    reverts:   a release that fails does not stay, so that going back is no advice
    """
    rate, length = window.acceptance_rate, window.acceptance_length
    if rate is None or length is None:
        return Diagnosis()
    if rate >= _NEAR_ONE and window.rounds >= _ENOUGH_ROUNDS:
        return Diagnosis((_loop(rate, host),))
    drop = _drop(window, baseline)
    suspect = length < _GOOD_LENGTH if drop is None else drop > _REAL_DROP + _longer_block(window, baseline)
    check = command("invoke", "drafter", "--host", host, *flags)
    cut_off = _zero_tail(window, baseline, check)
    if not suspect and cut_off is None:
        return Diagnosis()
    if window.rounds < _ENOUGH_ROUNDS:
        return Diagnosis((), (f"{window.rounds} rounds are too few to say what causes it",))
    causes = list(_causes(window, baseline, drop, _Commands(host, check, reverts), method, differing))
    if cut_off is not None:
        causes.append(cut_off)
    unknown = [] if causes else ["the curve is like none of the faults that were measured"]
    if method == "dflash" and not (causes and causes[0].id in _LAYERS_NAMED):
        unknown.append(
            "layer ids off by one, which acceptance does not show: compare them with the log's line "
            '"Using ... auxiliary layers" (vLLM 0.22 and later: each id plus 1)'
        )
    return Diagnosis(tuple(causes), tuple(unknown))


@dataclass(frozen=True)
class _Commands:
    """What to do next. check looks at the drafter's config."""

    host: str
    check: str
    reverts: bool

    def old_engine(self, engine: object) -> str:
        if self.reverts:
            return f"{command('invoke', 'inventory.show', '--host', self.host)}      (engine.source: back to {engine})"
        return command("invoke", "rollback", "--host", self.host)


def _causes(
    window: Window,
    baseline: Window | None,
    drop: float | None,
    commands: _Commands,
    method: str,
    differing: Sequence[Difference],
) -> Iterator[Cause]:
    changed = {one.name: one for one in differing if one.known}
    if drop is not None and "engine" in changed and "drafter" not in changed:
        engine = changed["engine"]
        yield Cause(
            "engine-changed",
            f"the engine changed from {engine.before} to {engine.after}, and the drafter did not",
            "an upgrade can change a default of sampling or a kernel: 0.27.1 -> 0.28.0 took 3.19 to 2.66 elsewhere",
            commands.old_engine(engine.before),
        )
    check = commands.check
    if window.accepted == 0 and method == "dflash":
        yield Cause(
            "nothing-accepted",
            "target_layer_ids are missing or out of range, or a compile cache of another drafter config is used",
            f"not one token accepted in {window.rounds} rounds",
            check,
        )
        return
    first = window.per_position_rates[0] if window.per_position else None
    if window.accepted == 0 or (first is not None and first < _NEAR_ZERO):
        yield Cause(
            "drafter-of-another-model",
            "the drafter does not belong to this target: other weights, missing or wrongly quantised ones",
            f"even position 0 is accepted in only {100 * (first or 0):.1f} % of the {window.rounds} rounds",
            check,
        )
        return
    if method != "dflash":
        return
    if baseline is not None and drop is not None and (cause := _dying_tail(window, baseline, check)):
        yield cause
        return
    shapes = most_like(window, baseline)
    for shape in shapes:
        yield _shape(shape, shapes[0], check)
    if not shapes and baseline is not None and (cause := _scaled(window, baseline, commands.host)):
        yield cause


def _shape(shape: Shape, first: Shape, check: str) -> Cause:
    cause, measured = _FIELDS[shape.id]
    why = f"measured shape: {measured}"
    return Cause(
        shape.id, cause, why if shape is first else f"{why}; these rounds cannot tell it from the first", check
    )


def _loop(rate: float, host: str) -> Cause:
    return Cause(
        "repetition-loop",
        "the text repeats itself: a loop is easy to draft",
        f"{100 * rate:.0f} % of the drafted tokens are accepted",
        command("invoke", "health", "--host", host),
    )


def _zero_tail(window: Window, baseline: Window | None, check: str) -> Cause | None:
    """A curve that is fair and then exactly zero, where 100 rounds would show a tail of a few percent."""
    counts = window.per_position
    if window.rounds < 100 or len(counts) < 4 or counts[-1]:
        return None
    last = max((i for i, count in enumerate(counts) if count), default=0)
    if last < 1 or last > len(counts) - 3 or counts[last] < _NEAR_ZERO * window.rounds:
        return None
    if baseline is not None and not any(baseline.per_position[last + 1 :]):
        return None  # it always was so
    return Cause(
        "tail-cut-off",
        "sliding-window layers run as full attention beyond their window, or the engine cuts drafts short",
        f"position {last} is accepted in {100 * counts[last] / window.rounds:.0f} % of the rounds, the next one never",
        check,
    )


def _dying_tail(window: Window, baseline: Window, check: str) -> Cause | None:
    """Guessed layer ids: the first four positions nearly as before, the rest much less."""
    head, tail = _share(window, baseline, 0, 4), _share(window, baseline, 4, None)
    if head is None or tail is None or head < 0.9 or tail > 0.7:
        return None
    return Cause(
        "layer-ids-guessed",
        "target_layer_ids are not the ones it was trained with",
        f"the first four positions keep {100 * head:.0f} % of the baseline, the rest {100 * tail:.0f} %",
        check,
    )


def _scaled(window: Window, baseline: Window, host: str) -> Cause | None:
    """All positions lower by about the same factor a position: the drafter is right, what it drafts for is not."""
    pairs = list(zip(window.per_position_rates[:3], baseline.per_position_rates[:3], strict=False))
    if len(pairs) < 2 or not all(old > 0 for _, old in pairs):
        return None
    factors = [new / old for new, old in pairs]
    if not all(0.5 <= factor <= 0.97 for factor in factors) or max(factors) > 1.35 * min(factors):
        return None
    return Cause(
        "all-positions-lower",
        "other text than the baseline's, or a target that changed: temperature, thinking mode, language, quantisation",
        "every position is lower by about the same factor: " + " ".join(f"{factor:.2f}" for factor in factors),
        command("invoke", "status", "--host", host),
    )


def _share(window: Window, baseline: Window, first: int, end: int | None) -> float | None:
    new, old = window.per_position_rates, baseline.per_position_rates
    if len(new) != len(old) or not sum(old[first:end]):
        return None
    return sum(new[first:end]) / sum(old[first:end])


def _longer_block(window: Window, baseline: Window | None) -> float:
    """What a larger k than the baseline's explains of a drop over shared positions."""
    k, was = window.k, baseline.k if baseline is not None else None
    return SHORTER_BLOCK if k is not None and was is not None and k > was else 0.0


def _drop(window: Window, baseline: Window | None) -> float | None:
    """Loss of acceptance length against a baseline over shared positions; 0 when it may be chance, None without one."""
    if baseline is None or not baseline.rounds:
        return None
    shared = min(len(window.per_position), len(baseline.per_position))
    new, old = first_positions(window, shared), first_positions(baseline, shared)
    if new is None or old is None or new.acceptance_length is None or old.acceptance_length is None:
        return None
    error = sqrt((round_variance(new) or 0.0) / new.rounds + (round_variance(old) or 0.0) / old.rounds)
    lost = old.acceptance_length - new.acceptance_length
    return lost / old.acceptance_length if lost > _REAL_SIGMAS * error else 0.0
