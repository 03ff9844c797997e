"""What was measured at one number of speculative tokens, read from JSON and checked against its own identities."""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import pairwise
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from inventory.errors import UsageError

_SHAPE = '[{"speculative_tokens": 15, "tok_s": 40, "per_position_rates": [0.72, 0.48, 0.3, 0.18]}, ...]'
_ROUNDING = 0.006  # vLLM's log prints rates with two or three decimals
_SHOWN_PROBLEMS = 20
_SLIP = 0.8  # how alike a key that is not known must be to one that is, to be that one misspelt


def _a_number(value: object) -> object:
    """Texts and truths are not taken for numbers: in a file of measurements they are somebody's mistake."""
    if isinstance(value, bool | str):
        raise PydanticCustomError("no_number", "{text} should be a number", {"text": json.dumps(value)[:40]})
    return value


_Number = BeforeValidator(_a_number)
_Count = Annotated[int, Field(ge=0, le=10**12), _Number]
_Name = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]{1,100}$")]
_Rate = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), _Number]


class Point(BaseModel):
    """One measurement. None and () are not known.

    speculative_tokens: k; 0 is without speculation
    tok_s:              output tokens a second, of all streams together
    rounds, accepted, drafted, per_position_rates: as roles.acceptance.window.Window has them
    concurrency:        streams at a time
    block_size:         of the drafter: it was trained for block_size - 1 tokens
    kind:               "class" in a file: of the prompts, where the point is about one class of a run's prompts only
    """

    model_config = ConfigDict(frozen=True, extra="ignore", validate_by_name=True, serialize_by_alias=True)

    speculative_tokens: Annotated[int, Field(ge=0, le=256), _Number]
    tok_s: Annotated[float, Field(ge=1e-3, lt=1e9, allow_inf_nan=False), _Number] | None = None
    rounds: _Count | None = None
    accepted: _Count | None = None
    drafted: _Count | None = None
    per_position_rates: tuple[_Rate, ...] = ()
    concurrency: Annotated[int, Field(ge=1, le=100_000), _Number] | None = None
    block_size: Annotated[int, Field(ge=2, le=257), _Number] | None = None
    kind: _Name | None = Field(default=None, validation_alias="class", serialization_alias="class")

    @model_validator(mode="before")
    @classmethod
    def _no_misspelt_keys(cls, value: object) -> object:
        """Keys of other programs are ignored, but not one that would have been ours."""
        if isinstance(value, dict):
            known = {field.serialization_alias or name for name, field in cls.model_fields.items()}
            for key in value.keys() - known - cls.model_fields.keys():
                near = get_close_matches(str(key), known - value.keys(), n=1, cutoff=_SLIP)
                if near:
                    raise ValueError(f"{str(key)[:40]!r} is no key; {near[0]!r} is")
        return value

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
        if rates and self.accepted is not None and self.rounds:
            mean, told = self.accepted / self.rounds, sum(rates)
            doubt = _ROUNDING * len(rates) + _ROUNDING
            if told > mean + doubt or (len(rates) == k and told < mean - doubt):
                yield (
                    f"per_position_rates add up to {told:.2f} accepted tokens a round, accepted ({self.accepted}) in "
                    f"{self.rounds} rounds is {mean:.2f}"
                )

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
        points = _POINTS.validate_json(content.removeprefix(b"\xef\xbb\xbf"), strict=False)
    except ValidationError as error:
        found = [f"{_place(fault['loc'])}{_words(fault['msg'])}" for fault in error.errors(include_url=False)]
        more = [f"and {len(found) - _SHOWN_PROBLEMS} more"] if len(found) > _SHOWN_PROBLEMS else []
        raise UsageError(
            f"{name}: no points to tune from", why=[*found[:_SHOWN_PROBLEMS], *more], tries=[f"a JSON list: {_SHAPE}"]
        ) from None
    if not points:
        raise UsageError(f"{name}: the list is empty", tries=[f"a JSON list: {_SHAPE}"])
    if all(point.tok_s is None for point in points):
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
