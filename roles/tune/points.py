"""What was measured at one number of speculative tokens, read from JSON and checked against its own identities."""

from collections.abc import Iterator
from itertools import pairwise
from math import isfinite
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from inventory.errors import UsageError

_SHAPE = '[{"speculative_tokens": 15, "tok_s": 40, "per_position_rates": [0.72, 0.48, 0.3, 0.18]}, ...]'
_ROUNDING = 0.006  # vLLM's log prints rates with two or three decimals
_SHOWN_PROBLEMS = 20

_Count = Annotated[int, Field(ge=0, le=10**12)]
_Rate = Annotated[float, Field(ge=0, le=1)]


class Point(BaseModel):
    """One measurement. None and () are not known.

    speculative_tokens: k; 0 is without speculation
    tok_s:              output tokens a second, of all streams together
    rounds, accepted, drafted, per_position_rates: as roles.acceptance.window.Window has them
    concurrency:        streams at a time
    block_size:         of the drafter: it was trained for block_size - 1 tokens
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    speculative_tokens: Annotated[int, Field(ge=0, le=256)]
    tok_s: Annotated[float, Field(gt=0, lt=1e12)] | None = None
    rounds: _Count | None = None
    accepted: _Count | None = None
    drafted: _Count | None = None
    per_position_rates: tuple[_Rate, ...] = ()
    concurrency: Annotated[int, Field(ge=1, le=100_000)] | None = None
    block_size: Annotated[int, Field(ge=2, le=257)] | None = None

    @field_validator("per_position_rates", mode="before")
    @classmethod
    def _null_is_unknown(cls, value: object) -> object:
        return () if value is None else value

    @model_validator(mode="after")
    def _counts_fit(self) -> "Point":
        if wrong := list(self._contradictions()):
            raise ValueError("; ".join(wrong))
        return self

    def _contradictions(self) -> Iterator[str]:
        k, rates = self.speculative_tokens, self.per_position_rates
        if len(rates) > k:
            yield f"{len(rates)} per_position_rates, but speculative_tokens is {k}"
        if any(later > earlier + _ROUNDING for earlier, later in pairwise(rates)):
            yield "per_position_rates rise: they are shares of all rounds, so a later one cannot be larger"
        if self.accepted is not None and self.drafted is not None and self.accepted > self.drafted:
            yield f"accepted ({self.accepted}) is more than drafted ({self.drafted})"
        if self.accepted is not None and self.rounds is not None and self.accepted > k * self.rounds:
            yield f"accepted ({self.accepted}) is more than {k} in each of {self.rounds} rounds"
        if self.drafted is not None and self.rounds is not None and self.drafted > k * self.rounds:
            yield f"drafted ({self.drafted}) is more than {k} in each of {self.rounds} rounds"

    @property
    def counted_rounds(self) -> int | None:
        """Rounds as counted, else as many as drafted tokens need; None when neither is known."""
        if self.rounds:
            return self.rounds
        return round(self.drafted / self.speculative_tokens) if self.drafted and self.speculative_tokens else None

    @property
    def length(self) -> float | None:
        """Mean tokens a round, bonus included, as far as it was counted; the rates only when all k are there."""
        if self.speculative_tokens == 0:
            return 1.0
        if self.accepted is not None and (rounds := self.counted_rounds):
            return 1 + self.accepted / rounds
        if len(self.per_position_rates) == self.speculative_tokens:
            return 1 + sum(self.per_position_rates)
        return None


_POINTS = TypeAdapter(list[Point])


def read_points(content: bytes, name: str) -> list[Point]:
    """The points of a JSON list. Raises UsageError with every place that cannot be used; `name` is the file's."""
    try:
        points = _POINTS.validate_json(content, strict=False)
    except ValidationError as error:
        found = [f"{_place(fault['loc'])}{_words(fault['msg'])}" for fault in error.errors(include_url=False)]
        more = [f"and {len(found) - _SHOWN_PROBLEMS} more"] if len(found) > _SHOWN_PROBLEMS else []
        raise UsageError(
            f"{name}: no points to tune from", why=[*found[:_SHOWN_PROBLEMS], *more], tries=[f"a JSON list: {_SHAPE}"]
        ) from None
    if not any(point.tok_s is not None and isfinite(point.tok_s) for point in points):
        raise UsageError(f"{name}: no point has tok_s", tries=[f"a JSON list: {_SHAPE}"])
    if not any(point.speculative_tokens for point in points):
        raise UsageError(
            f"{name}: no point speculates",
            why=["Without a run with speculative_tokens nothing is known about the drafter."],
            tries=["one run at the drafter's largest number of tokens (block_size - 1): it knows all smaller ones"],
        )
    return points


def _place(location: tuple[int | str, ...]) -> str:
    """(1, "tok_s") -> "point 2: tok_s: "."""
    parts = [f"point {part + 1}" if i == 0 and isinstance(part, int) else str(part) for i, part in enumerate(location)]
    return "".join(f"{part}: " for part in parts)


def _words(message: str) -> str:
    return message.removeprefix("Value error, ").replace("Input should", "should")
