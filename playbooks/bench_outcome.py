"""What `invoke bench` tells: one run, or the same work at several loads."""

from dataclasses import asdict, dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from inventory.errors import ExitCode
from roles.acceptance.advice import Advice
from roles.acceptance.window import Window
from roles.gpu.activity import Activities
from roles.load.compare import Comparison
from roles.load.doubt import Doubt
from roles.load.engine_state import EngineState
from roles.load.history import Run
from roles.load.summary import Summary
from roles.load.table import bench_table, changes_table, sweep_table


@dataclass(frozen=True)
class BenchOutcome:
    """A run, what it advises, and what changed. how: closed or open loop; where: load came from, and why it matters."""

    run: Run
    summary: Summary
    window: Window
    advice: Advice | None
    doubts: tuple[Doubt, ...]
    comparison: Comparison | None
    state: EngineState
    gpus: Activities
    how: str
    where: str

    @property
    def exit_code(self) -> ExitCode:
        """A run in which nothing succeeded is a failure."""
        return ExitCode.DONE if self.summary.requests_ok else ExitCode.FAILED

    def as_json(self) -> dict[str, object]:
        """All of it."""
        return {
            "release": self.run.release,
            "at": self.run.at.isoformat(timespec="seconds"),
            "conditions": dict(self.run.conditions),
            "summary": self.summary.as_json(),
            "acceptance": {
                **(dict(self.run.counts) if self.run.counts else {}),
                "acceptance_length": self.window.acceptance_length,
                "acceptance_rate": self.window.acceptance_rate,
                "per_position_rates": list(self.window.per_position_rates),
                "doubts": list(self.window.doubts),
            },
            "engine": self.state.as_json(),
            "gpus": asdict(self.gpus),
            "load": {"how": self.how, "where": self.where},
            "advice": asdict(self.advice) if self.advice else None,
            "doubts": [doubt.as_json() for doubt in self.doubts],
            "comparison": self.comparison.as_json() if self.comparison else None,
        }

    def render(self) -> RenderableType:
        """A table, and a second one that compares."""
        host, conditions = self.run.host, self.run.conditions
        thinking = conditions.get("thinking")
        mode = "" if thinking is None else f", thinking {'on' if thinking else 'off'}"
        subtitle = f"{conditions.get('prompts')}, {self.how}, temperature {conditions.get('temperature'):g}{mode}"
        table = bench_table(
            self.summary,
            title=f"bench · {host} · release {self.run.release}",
            subtitle=subtitle,
            acceptance_length=self.window.acceptance_length,
            acceptance_rate=self.window.acceptance_rate,
            per_position_rates=self.window.per_position_rates,
            rounds=self.window.rounds,
            k=self.window.k,
            advice=[f"{self.advice.text}   (invoke deploy --host {host} --tokens {self.advice.tokens})"]
            if self.advice
            else [],
            engine=str(self.state),
            gpus=str(self.gpus),
            where=self.where,
            doubts=self.doubts,
        )
        return Group(table, Text(), changes_table(self.comparison)) if self.comparison else table


@dataclass(frozen=True)
class SweepOutcome:
    """The same at several loads: concurrencies, or rates."""

    outcomes: tuple[BenchOutcome, ...]

    @property
    def exit_code(self) -> ExitCode:
        """Of the first that failed."""
        return next((outcome.exit_code for outcome in self.outcomes if outcome.exit_code), ExitCode.DONE)

    def as_json(self) -> dict[str, object]:
        """Each run, where more load stops to pay, and the largest one that kept the limits."""
        return {
            "saturates_at": self.saturation,
            "best_goodput_at": self.best_goodput,
            "runs": [outcome.as_json() for outcome in self.outcomes],
        }

    @property
    def saturation(self) -> float | None:
        """The load beyond which nothing that was measured gives a tenth more tokens; None when the last does."""
        speeds = [outcome.summary.total_tok_s or 0 for outcome in self.outcomes]
        for index, speed in enumerate(speeds[:-1]):
            if max(speeds[index + 1 :]) < _WORTH_IT * speed:
                return _load(self.outcomes[index])
        return None

    @property
    def best_goodput(self) -> float | None:
        """The load at which most requests a second kept the limits; None without limits, and where none did."""
        good = [(found.req_s, _load(one)) for one in self.outcomes if (found := one.summary.goodput) and found.met]
        return max(good, default=(0.0, None))[1]

    def render(self) -> RenderableType:
        """One line a load."""
        rows = [(_load(one), one.summary, one.window.acceptance_length) for one in self.outcomes]
        unit = "streams" if self._closed else "requests/s"
        table = sweep_table(rows, title=f"bench · {self.outcomes[0].run.host} · sweep", load=unit)
        lines = [
            f"saturates at {self.saturation:g} {unit}" if self.saturation else "not saturated: more load gives more",
            f"most goodput at {self.best_goodput:g} {unit}" if self.best_goodput else "",
            f"load {self.outcomes[0].where}",
            *(
                f"{'doubt' if doubt.spoils else 'note'}: at {_load(one):g} {unit}: {doubt.message}"
                for one in self.outcomes
                for doubt in one.doubts
            ),
        ]
        return Group(table, Text(), *(Text(f"  {line}") for line in lines if line))

    @property
    def _closed(self) -> bool:
        return "rate" not in self.outcomes[0].run.conditions


_WORTH_IT = 1.1


def _load(outcome: BenchOutcome) -> float:
    conditions = outcome.run.conditions
    return float(str(conditions.get("rate") or conditions["concurrency"]))


def counts_of(window: Window) -> dict[str, object] | None:
    """A run's counts; None without a round."""
    if not window.rounds:
        return None
    return {
        "rounds": window.rounds,
        "accepted": window.accepted,
        "drafted": window.drafted,
        "per_position": list(window.per_position),
        "k": window.k,
    }
