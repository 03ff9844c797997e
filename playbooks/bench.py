"""invoke bench: measure speed and acceptance, compare with an earlier run, keep the result."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from inventory.errors import ExitCode, ServerError, UsageError
from playbooks.flags import whole_number
from playbooks.site import Site
from playbooks.survey import gpu_of, release_facts
from playbooks.verify import conditions_of
from roles.acceptance.advice import Advice, advise
from roles.acceptance.counters import delta, read
from roles.acceptance.window import Window
from roles.load.client import get
from roles.load.compare import Comparison, compare
from roles.load.endpoint import Endpoint
from roles.load.engine_state import EngineState, engine_state
from roles.load.history import Run
from roles.load.named import keep, named
from roles.load.noise import requests_of
from roles.load.prompts import PromptSet, load_prompts
from roles.load.report import as_csv, report
from roles.load.result import LoadResult, Progress
from roles.load.run import run_load
from roles.load.summary import Summary, summarise
from roles.load.table import bench_table, changes_table, sweep_table
from roles.load.warnings import Doubt, doubts


@dataclass(frozen=True)
class Options:
    """Flags; None leaves it to the inventory. prompts: a number, or a JSONL file.

    save:  a file for the result, .json or .csv; html: one for the report
    sweep: concurrencies, "1,2,4,8"
    """

    prompts: str | None = None
    concurrency: str | None = None
    max_tokens: str | None = None
    against: str = "last"
    save: str | None = None
    html: str | None = None
    sweep: str | None = None


@dataclass(frozen=True)
class BenchOutcome:
    """A run, what it advises, and what changed."""

    run: Run
    summary: Summary
    window: Window
    advice: Advice | None
    doubts: tuple[Doubt, ...]
    comparison: Comparison | None
    state: EngineState

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
            "advice": asdict(self.advice) if self.advice else None,
            "doubts": [doubt.as_json() for doubt in self.doubts],
            "comparison": self.comparison.as_json() if self.comparison else None,
        }

    def render(self) -> RenderableType:
        """A table, and a second one that compares."""
        host, conditions = self.run.host, self.run.conditions
        subtitle = f"{conditions.get('prompts')}, concurrency {conditions.get('concurrency')}, temperature 0"
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
            doubts=self.doubts,
        )
        return Group(table, Text(), changes_table(self.comparison)) if self.comparison else table


@dataclass(frozen=True)
class SweepOutcome:
    """The same at several concurrencies."""

    outcomes: tuple[BenchOutcome, ...]

    @property
    def exit_code(self) -> ExitCode:
        """Of the first that failed."""
        return next((outcome.exit_code for outcome in self.outcomes if outcome.exit_code), ExitCode.DONE)

    def as_json(self) -> dict[str, object]:
        """Each run, and where more streams stop to pay."""
        return {"saturates_at": self.saturation, "runs": [outcome.as_json() for outcome in self.outcomes]}

    @property
    def saturation(self) -> int | None:
        """The concurrency beyond which nothing that was measured gives a tenth more tokens; None when the last does."""
        speeds = [outcome.summary.total_tok_s or 0 for outcome in self.outcomes]
        for index, speed in enumerate(speeds[:-1]):
            if max(speeds[index + 1 :]) < _WORTH_IT * speed:
                return _streams(self.outcomes[index])
        return None

    def render(self) -> RenderableType:
        """One line a concurrency."""
        rows = [(_streams(outcome), outcome.summary, outcome.window.acceptance_length) for outcome in self.outcomes]
        words = (
            f"saturates at {self.saturation} streams" if self.saturation else "not saturated: more streams give more"
        )
        return Group(
            sweep_table(rows, title=f"bench · {self.outcomes[0].run.host} · sweep"), Text(), Text(f"  {words}")
        )


Each = Callable[[Endpoint, Progress], None]

_WORTH_IT = 1.1
_FORMATS = (".json", ".csv")


def run(site: Site, options: Options) -> BenchOutcome | SweepOutcome:
    """Measure the current release from here, at one concurrency or at several, and write what was asked for."""
    if options.save is not None and not options.save.endswith(_FORMATS):
        raise UsageError(f"--save writes .json or .csv, not {options.save!r}")
    loads = _loads(options)
    if not loads:
        outcome = measure(site, options)
        _write(site, options, (outcome,))
        return outcome
    outcomes = []
    for streams in loads:
        site.talk.headline(f"concurrency {streams}")
        outcomes.append(measure(site, replace(options, concurrency=str(streams), against="none")))
    _write(site, options, tuple(outcomes))
    return SweepOutcome(tuple(outcomes))


def _loads(options: Options) -> tuple[int, ...]:
    """The concurrencies of a sweep, rising; () without one. Raises UsageError."""
    if options.sweep is None:
        return ()
    if options.concurrency is not None:
        raise UsageError("--sweep and --concurrency do not go together")
    return tuple(sorted({whole_number("sweep", part.strip()) or 1 for part in options.sweep.split(",")}))


def _write(site: Site, options: Options, outcomes: tuple[BenchOutcome, ...]) -> None:
    runs = [outcome.run for outcome in outcomes]
    before = outcomes[0].comparison.before if outcomes[0].comparison else None
    written = {}
    if options.save:
        documents = [
            {"host": outcome.run.host, **outcome.as_json(), "requests": _requests(outcome.run)} for outcome in outcomes
        ]
        written[options.save] = (
            as_csv(runs) if options.save.endswith(".csv") else json.dumps(documents, indent=2, default=str)
        )
    if options.html:
        written[options.html] = report([before, *runs] if before else runs, title=f"bench · {site.name}")
    for path, text in written.items():
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}", why=["The result itself is in the history."]) from error
        site.talk.note(f"wrote {path}")


def _requests(run: Run) -> object:
    return (run.summary or {}).get("requests")


def _streams(outcome: BenchOutcome) -> int:
    return int(str(outcome.run.conditions["concurrency"]))


def measure(site: Site, options: Options, *, each: Each | None = None, on_trial: bool = False) -> BenchOutcome:
    """Measure the current release once.

    each: is told of every request that has ended, those of the warm-up too; on_trial: it need not be confirmed yet
    """
    prompts = _prompts(options.prompts, site.host.bench.prompts)
    facts = release_facts(site)
    current = facts.release(facts.current)
    if current is None or current.manifest is None:
        raise ServerError(
            "there is no release to measure", where=[site.name], tries=[f"invoke deploy --host {site.name}"]
        )
    if facts.pending is not None and not on_trial:
        site.talk.warn(f"{current.id} is not confirmed: the host may go back to {facts.pending.previous or 'nothing'}")
    bench = site.host.bench
    concurrency = whole_number("concurrency", options.concurrency) or bench.concurrency
    max_tokens = whole_number("max-tokens", options.max_tokens) or bench.max_tokens
    before = _earlier(site, options.against)
    with site.endpoint() as endpoint, site.talk.work("bench", f"{len(prompts)} prompts") as work:

        def progress(now: Progress) -> None:
            if each is not None:
                each(endpoint, now)
            if now.done in {1, now.total} or now.done % 10 == 0:
                speed = f", {now.output_tokens / now.elapsed_s:.0f} tok/s" if now.elapsed_s else ""
                work.say("warm-up" if now.warming_up else f"{now.done}/{now.total}{speed}")

        result = run_load(
            endpoint,
            prompts,
            max_tokens=max_tokens,
            concurrency=concurrency,
            warmup=bench.warmup,
            deadline_s=bench.timeout_s,
            on_progress=progress,
            scrape=lambda: get(endpoint, "/metrics")[1],
        )
        work.done(f"{len(prompts)} prompts, {concurrency} at a time, from this machine ({site.host.server.reach})")
    window = _window(result)
    summary = summarise(result)
    gate = site.host.gate.model_copy(update={"max_tokens": max_tokens})
    conditions = {
        **vars(conditions_of(current.manifest, prompts, gate, gpu_of(site))),
        **result.conditions(),
        "concurrency": concurrency,
        "reach": site.host.server.reach,
        "tool": "specrail",
    }
    state = engine_state(result.counters_before, result.counters_after, result.gauges)
    doubtful = doubts(result, generation_tokens=window.generated, prefix_hit_rate=state.prefix_hit_rate)
    measured = Run(
        kind="bench",
        host=site.name,
        release=current.id,
        at=datetime.now(UTC),
        conditions=conditions,
        summary={**summary.as_json(), "requests": requests_of(result), "engine": state.as_json()},
        counts=_counts(window),
        doubts=tuple(doubt.as_json() for doubt in doubtful),
    )
    kept = site.history.add(measured) or measured
    return BenchOutcome(
        run=kept,
        summary=summary,
        window=window,
        advice=advise(window),
        doubts=doubtful,
        comparison=compare(before, kept) if before else None,
        state=state,
    )


def _prompts(wanted: str | None, default: int) -> PromptSet:
    if wanted is None or wanted.isdigit():
        return load_prompts(limit=int(wanted) if wanted else default)
    return load_prompts(wanted)


def _earlier(site: Site, against: str) -> Run | None:
    if against == "none" or (against == "last" and site.history.last(site.name, "bench") is None):
        return None
    found = named(against, site.history, site.name)
    if len(found) > 1:
        raise UsageError(f"--against {against} holds {len(found)} results", tries=[f"--against '{against}#1'"])
    return keep(found, site.history)[0][0]


def _window(result: LoadResult) -> Window:
    if result.counters_before is None or result.counters_after is None:
        return Window(doubts=("the server's counters could not be read",))
    return delta(read(result.counters_before), read(result.counters_after))


def _counts(window: Window) -> dict[str, object] | None:
    if not window.rounds:
        return None
    return {
        "rounds": window.rounds,
        "accepted": window.accepted,
        "drafted": window.drafted,
        "per_position": list(window.per_position),
        "k": window.k,
    }
