"""What an answer must keep to count as good, and how many did: goodput."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from inventory.errors import UsageError
from roles.load.result import LoadResult, Sample

_LIMIT = re.compile(r"(ttft|tpot|e2e):([0-9]+(?:\.[0-9]+)?)(ms|s)")


@dataclass(frozen=True)
class Slo:
    """Upper limits for one request, seconds; None is no limit. At least one is set."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None

    def __post_init__(self) -> None:
        limits = self.limits()
        if not limits or min(limits.values()) <= 0:
            raise ValueError("at least one limit, and none of 0")

    @classmethod
    def parse(cls, text: str) -> "Slo":
        """Read "ttft:500ms,tpot:30ms,e2e:10s". Raises UsageError."""
        limits: dict[str, float] = {}
        for part in text.split(","):
            found = _LIMIT.fullmatch(part.strip())
            if found is None or found[1] in limits or not float(found[2]):
                raise UsageError(
                    f"{part.strip()!r} is no limit for a request",
                    why=["ttft, tpot and e2e may have one each, in ms or s"],
                    tries=["ttft:500ms,tpot:30ms,e2e:10s"],
                )
            limits[found[1]] = float(found[2]) / (1e3 if found[3] == "ms" else 1)
        return cls(**{f"{name}_s": limit for name, limit in limits.items()})

    def limits(self) -> dict[str, float]:
        """What is limited, in the order ttft, tpot, e2e."""
        known = {"ttft": self.ttft_s, "tpot": self.tpot_s, "e2e": self.e2e_s}
        return {name: limit for name, limit in known.items() if limit is not None}

    def missed(self, sample: Sample) -> tuple[str, ...]:
        """The limits that a request did not keep. A failed one kept none; one token has no time per further token."""
        if not sample.completion.ok:
            return tuple(self.limits())
        values = {"ttft": sample.ttft_s, "tpot": sample.completion.tpot_s, "e2e": sample.e2e_s}
        return tuple(
            name
            for name, limit in self.limits().items()
            if (value := values[name]) is None or value > limit
            if not (name == "tpot" and sample.completion.completion_tokens == 1)
        )

    def __str__(self) -> str:
        return ", ".join(f"{name} <= {_said(limit)}" for name, limit in self.limits().items())


@dataclass(frozen=True)
class Goodput:
    """How many requests kept all limits (DistServe, arXiv 2401.09670; `vllm bench serve --goodput`).

    met:    requests, of those that were sent; a failed one kept nothing
    req_s:  those a second of the whole run
    missed: requests that did not keep a limit, by limit
    """

    slo: str
    met: int
    sent: int
    req_s: float
    missed: Mapping[str, int]

    @property
    def share(self) -> float | None:
        """Of the requests that were sent, 0-1."""
        return self.met / self.sent if self.sent else None


def goodput(result: LoadResult, slo: Slo) -> Goodput:
    """The run's requests against the limits; TTFT and end-to-end latency count from when a request was due."""
    missed = [slo.missed(sample) for sample in result.samples]
    met = sum(not names for names in missed)
    return Goodput(
        slo=str(slo),
        met=met,
        sent=len(missed),
        req_s=met / result.wall_s if result.wall_s else 0.0,
        missed={name: sum(name in names for names in missed) for name in slo.limits()},
    )


def _said(limit_s: float) -> str:
    return f"{limit_s:g} s" if limit_s >= 1 else f"{1e3 * limit_s:g} ms"
