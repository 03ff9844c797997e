"""All concurrencies' predictions as one answer: the k to deploy, for programs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from inventory.errors import UsageError
from roles.tune.notes import changing_optimum, notes
from roles.tune.points import Point
from roles.tune.predict import Prediction, predict


@dataclass(frozen=True)
class Answer:
    """What the points come to.

    best:    smallest k that is in every concurrency's plateau; where there is none, that of the fewest streams
    plateau: the k that are in every one; where there is none, those of the fewest streams
    by_concurrency: rising; the curve and cost of the first stand for the answer
    """

    best: int
    plateau: tuple[int, ...]
    by_concurrency: tuple[Prediction, ...]
    notes: tuple[str, ...]

    @property
    def first(self) -> Prediction:
        """The prediction for the fewest streams."""
        return self.by_concurrency[0]

    def as_json(self) -> dict[str, object]:
        """best, plateau, curve, cost, notes; by_concurrency where there are several."""
        several = {
            "by_concurrency": [
                {"concurrency": found.concurrency, "best": found.best, **_prediction(found)}
                for found in self.by_concurrency
            ]
        }
        return {
            "best": self.best,
            **_prediction(self.first),
            "plateau": list(self.plateau),
            "notes": list(self.notes),
            **(several if len(self.by_concurrency) > 1 else {}),
        }


def answer(points: Sequence[Point]) -> Answer:
    """Tune from points at one or several concurrencies. Raises UsageError where they do not allow it."""
    groups: defaultdict[int | None, list[Point]] = defaultdict(list)
    for point in points:
        groups[point.concurrency].append(point)
    found, left_out = [], []
    for concurrency in sorted(groups, key=lambda streams: streams or 0):
        try:
            found.append(predict(groups[concurrency], concurrency))
        except UsageError as error:
            if len(groups) == 1:
                raise
            left_out.append(f"concurrency {concurrency or 'unknown'} is left out: {error.what}")
    if not found:
        raise UsageError("the points of no concurrency are enough to tune from", why=left_out)
    shared = sorted(set.intersection(*(set(prediction.plateau) for prediction in found)))
    plateau = tuple(shared) or found[0].plateau
    several = len(found) > 1
    said = [*changing_optimum(found)]
    for prediction in found:
        said += [f"{_streams(prediction)}: {note}" if several else note for note in notes(prediction)]
    if several and not shared:
        said.insert(0, f"no k is good at every concurrency: {plateau[0]} is for {_streams(found[0])}")
    return Answer(plateau[0], plateau, tuple(found), tuple(dict.fromkeys((*said, *left_out))))


def _streams(prediction: Prediction) -> str:
    return f"concurrency {prediction.concurrency or 'unknown'}"


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
