"""invoke bench: measure speed and acceptance, compare with an earlier run, keep the result."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from inventory.errors import ServerError, UsageError
from playbooks.bench_gpu import GpuWatch
from playbooks.bench_outcome import BenchOutcome, SweepOutcome
from playbooks.bench_source import make_load, where_from
from playbooks.bench_work import Options, Work, work_of
from playbooks.flags import positive_number, whole_number
from playbooks.site import Site
from playbooks.survey import gpu_of, release_facts
from playbooks.verify import conditions_of
from roles.acceptance.advice import advise
from roles.acceptance.counters import delta, read
from roles.acceptance.window import Window
from roles.load.circumstances import gpu_doubts
from roles.load.client import get
from roles.load.compare import compare
from roles.load.doubt import Doubt
from roles.load.endpoint import Endpoint
from roles.load.engine_state import engine_state
from roles.load.history import Run
from roles.load.named import keep, named
from roles.load.noise import requests_of
from roles.load.report import as_csv, report
from roles.load.result import LoadResult, Progress
from roles.load.summary import summarise
from roles.load.warnings import doubts
from roles.release.manifest import Manifest
from roles.server.health import other_server

__all__ = ["BenchOutcome", "Options", "SweepOutcome", "measure", "run"]

Each = Callable[[Endpoint, Progress], None]

_FORMATS = (".json", ".csv")


def run(site: Site, options: Options) -> BenchOutcome | SweepOutcome:
    """Measure the current release, at one load or at several, and write what was asked for."""
    if options.save is not None and not options.save.endswith(_FORMATS):
        raise UsageError(f"--save writes .json or .csv, not {options.save!r}")
    loads = _loads(options)
    if len(loads) == 1:
        outcome = measure(site, loads[0])
        _write(site, options, (outcome,))
        return outcome
    outcomes = []
    for load in loads:
        site.talk.headline(f"{load.rate} requests/s" if load.rate else f"concurrency {load.concurrency}")
        outcomes.append(measure(site, replace(load, against="none")))
    _write(site, options, tuple(outcomes))
    return SweepOutcome(tuple(outcomes))


def _loads(options: Options) -> list[Options]:
    """The loads of a sweep over concurrencies or rates, rising; without one only the load itself. Raises UsageError."""
    if options.sweep is not None:
        if options.concurrency is not None or options.rate is not None:
            raise UsageError("--sweep goes neither with --concurrency nor with --rate")
        streams = sorted({whole_number("sweep", part.strip()) or 1 for part in options.sweep.split(",")})
        return [replace(options, concurrency=str(count)) for count in streams]
    if options.rate is not None and "," in options.rate:
        rates = sorted({positive_number("rate", part.strip()) or 0 for part in options.rate.split(",")})
        return [replace(options, rate=f"{rate:g}") for rate in rates]
    return [options]


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
    work = work_of(options, site.host.bench)
    facts = release_facts(site)
    current = facts.release(facts.current)
    if current is None or current.manifest is None:
        raise ServerError(
            "there is no release to measure", where=[site.name], tries=[f"invoke deploy --host {site.name}"]
        )
    if facts.pending is not None and not on_trial:
        site.talk.warn(f"{current.id} is not confirmed: the host may go back to {facts.pending.previous or 'nothing'}")
    before = _earlier(site, options.against)
    other = _other_server(site, current.manifest, unit_runs=facts.server_running)
    gpus = GpuWatch(site.shell, site.host.server.tensor_parallel)
    result = _load(site, work, current.manifest, gpus, each)
    window = _window(result)
    summary = summarise(result, work.slo)
    gate = site.host.gate.model_copy(update={"max_tokens": work.max_tokens})
    conditions = {
        **vars(conditions_of(current.manifest, work.prompts, gate, gpu_of(site))),
        **result.conditions(),
        "from": work.place,
        "reach": site.host.server.reach if work.place == "controller" else "loopback",
        "tool": "vllm bench serve" if work.source == "vllm" else "specrail",
    }
    state = engine_state(result.counters_before, result.counters_after, result.gauges)
    doubtful = doubts(
        result,
        generation_tokens=window.generated,
        state=state,
        more=[*other, *gpu_doubts(gpus.idle_utilization, gpus.during.heat, state)],
    )
    measured = Run(
        kind="bench",
        host=site.name,
        release=current.id,
        at=datetime.now(UTC),
        conditions=conditions,
        summary={
            **summary.as_json(),
            "requests": requests_of(result),
            "engine": state.as_json(),
            "gpus": asdict(gpus.during),
        },
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
        gpus=gpus.during,
        how=work.words,
        where=where_from(site, work),
    )


def _load(site: Site, work: Work, manifest: Manifest, gpus: GpuWatch, each: Each | None) -> LoadResult:
    with site.endpoint() as endpoint, site.talk.work("bench", f"{len(work.prompts)} prompts") as talk:

        def progress(now: Progress) -> None:
            if each is not None:
                each(endpoint, now)
            if now.done in {1, now.total} or now.done % 10 == 0:
                speed = f", {now.output_tokens / now.elapsed_s:.0f} tok/s" if now.elapsed_s else ""
                talk.say("warm-up" if now.warming_up else f"{now.done}/{now.total}{speed}")

        with gpus.watching():
            result = make_load(site, endpoint, work, manifest, progress)
        talk.done(f"{len(work.prompts)} prompts, {work.words}, {where_from(site, work)}")
    return result


def _other_server(site: Site, manifest: Manifest, *, unit_runs: bool) -> list[Doubt]:
    """Whether something else than the release answers at its port. Raises UnreachableError."""
    with site.endpoint() as endpoint:
        _, models = get(endpoint, "/v1/models")
    found = other_server(models, site.host.model.served_name, manifest.model.get("path"), unit_runs=unit_runs)
    return [] if found is None else [Doubt("other-server", found, spoils=True)]


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
