"""All concurrencies' predictions as one answer: the k to deploy, for programs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from inventory.errors import UsageError
from roles.tune.notes import changing_optimum, contradictions, differing_classes, notes, streams
from roles.tune.points import Point
from roles.tune.predict import Prediction, predict

_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Answer:
    """What the points come to.

    best:    smallest k that is in every concurrency's plateau; where there is none, the one that loses least where it
             loses most
    plateau: the k that are in every one; where there is none, the best
    by_concurrency: rising; the curve and cost of the first stand for the answer
    by_class: of prompts, where requests came one at a time; loss_at_best is against the first concurrency's best
    """

    best: int
    plateau: tuple[int, ...]
    by_concurrency: tuple[Prediction, ...]
    notes: tuple[str, ...]
    by_class: Mapping[str, Prediction] = field(default_factory=dict)

    @property
    def first(self) -> Prediction:
        """The prediction for the fewest streams."""
        return self.by_concurrency[0]

    def as_json(self) -> dict[str, object]:
        """best, plateau, curve, cost, notes; by_concurrency and by_class where there are several."""
        several = {
            "by_concurrency": [
                {"concurrency": found.concurrency, "best": found.best, **_prediction(found)}
                for found in self.by_concurrency
            ]
        }
        classes = {
            "by_class": {
                name: {"best": found.best, "loss_at_best": round(found.loss(self.first.best), 4), **_prediction(found)}
                for name, found in self.by_class.items()
            }
        }
        return {
            "best": self.best,
            **_prediction(self.first),
            "plateau": list(self.plateau),
            "notes": list(self.notes),
            **(several if len(self.by_concurrency) > 1 else {}),
            **(classes if self.by_class else {}),
        }


def answer(points: Sequence[Point]) -> Answer:
    """Tune from points at one or several concurrencies. Raises UsageError where they do not allow it.

    Points of classes are about parts of the others' runs; where there are only such, they are taken as repetitions.
    """
    whole = [point for point in points if point.kind is None] or list(points)
    whole, assumed = _with_concurrency(whole)
    groups = _grouped(whole, [point.concurrency for point in whole])
    found, left_out = [], []
    for concurrency in sorted(groups, key=lambda count: count or 0):
        try:
            found.append(predict([*groups[concurrency], *_lent(groups, concurrency)], concurrency))
        except UsageError as error:
            if len(groups) == 1:
                raise
            left_out.append(f"concurrency {concurrency or 'unknown'} is left out: {error.what}")
    if not found:
        raise UsageError("the points of no concurrency are enough to tune from", why=left_out)
    best, plateau = _choose(found)
    by_class = _by_class([point for point in points if point.kind is not None])
    said = [*contradictions(whole), *changing_optimum(found, best), *differing_classes(found[0], by_class)]
    for prediction in found:
        several = f"{streams(prediction)}: " if len(found) > 1 else ""
        said += [f"{several}{note}" for note in notes(prediction)]
    said = [*dict.fromkeys((*said, *assumed, *left_out))]
    return Answer(best, plateau, tuple(found), tuple(said), by_class)


def _with_concurrency(points: Sequence[Point]) -> tuple[list[Point], list[str]]:
    """Points that do not say their concurrency are of the only one that is said."""
    said = {point.concurrency for point in points}
    if len(said) != 2 or None not in said:
        return list(points), []
    (only,) = said - {None}
    same = [point.model_copy(update={"concurrency": only}) for point in points]
    return same, [f"points without a concurrency are taken as measured at {only}, as the others"]


def _lent(groups: Mapping[int | None, Sequence[Point]], concurrency: int | None) -> list[Point]:
    """What other concurrencies know about acceptance at k that this one does not: it hardly depends on the batch."""
    own = {point.speculative_tokens for point in groups[concurrency] if point.length is not None or not point.tok_s}
    return [
        point.model_copy(update={"tok_s": None, "concurrency": concurrency})
        for other, points in groups.items()
        for point in points
        if other != concurrency and point.speculative_tokens and point.speculative_tokens not in own
    ]


def _choose(found: Sequence[Prediction]) -> tuple[int, tuple[int, ...]]:
    """One k for all concurrencies, and those that are as good as it."""
    if shared := sorted(set.intersection(*(set(prediction.plateau) for prediction in found))):
        return shared[0], tuple(shared)
    proposed = sorted({k for prediction in found for k in range(min(prediction.plateau), max(prediction.plateau) + 1)})
    between = range(proposed[0], proposed[-1] + 1)
    known = [k for k in between if all(k < len(prediction.speeds) for prediction in found)] or proposed[:1]
    best = min(known, key=lambda k: max(prediction.loss(k) for prediction in found))
    return best, (best,)


def _by_class(points: Sequence[Point]) -> dict[str, Prediction]:
    """A prediction for each class of prompts at the lowest concurrency; without those whose points are not enough."""
    lowest = min((point.concurrency or 0 for point in points), default=0)
    alike = [point for point in points if (point.concurrency or 0) == lowest]
    found = {}
    for kind, group in sorted(_grouped(alike, [point.kind or "" for point in alike]).items()):
        try:
            found[kind] = predict(group, lowest or None)
        except UsageError:
            continue
    return found


def _grouped(points: Sequence[Point], keys: Sequence[_Key]) -> dict[_Key, list[Point]]:
    groups: defaultdict[_Key, list[Point]] = defaultdict(list)
    for point, key in zip(points, keys, strict=True):
        groups[key].append(point)
    return dict(groups)


def _prediction(found: Prediction) -> dict[str, object]:
    return {
        "plateau": list(found.plateau),
        "curve": [
            {
                "speculative_tokens": speed.speculative_tokens,
                "tok_s": round(speed.tok_s, 2),
                "low": round(speed.low, 2),
                "high": round(speed.high, 2),
                "measured": speed.measured,
            }
            for speed in found.speeds
        ],
        "cost": {"a_ms": round(1e3 * found.a_s, 3), "b_ms": round(1e3 * found.b_s, 4)},
    }
