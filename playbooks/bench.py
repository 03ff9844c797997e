"""invoke bench: measure speed and acceptance, compare with an earlier run, keep the result."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime

from inventory.errors import ServerError
from playbooks.bench_gpu import GpuWatch
from playbooks.bench_outcome import BenchOutcome, SweepOutcome, counts_of
from playbooks.bench_runs import at_each_load, earlier
from playbooks.bench_source import make_load, where_from, window_of
from playbooks.bench_work import Options, Work, left_out, work_of
from playbooks.site import Site
from playbooks.survey import gpu_of, release_facts
from playbooks.verify import conditions_of
from roles.acceptance.advice import advise
from roles.load.circumstances import gpu_doubts, same_counts
from roles.load.client import get
from roles.load.compare import compare
from roles.load.doubt import Doubt
from roles.load.endpoint import Endpoint
from roles.load.engine_state import engine_state
from roles.load.history import Run
from roles.load.noise import requests_of
from roles.load.result import LoadResult, Progress
from roles.load.summary import summarise
from roles.load.warnings import doubts
from roles.release.manifest import Manifest
from roles.server.health import other_server

__all__ = ["BenchOutcome", "Options", "SweepOutcome", "measure", "run"]

Each = Callable[[Endpoint, Progress], None]


def run(site: Site, options: Options) -> BenchOutcome | SweepOutcome:
    """Measure the current release, at one load or at several, and write what was asked for."""
    return at_each_load(options, lambda load: measure(site, load), site.talk, whose=site.name)


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
    before = earlier(site.history, options.against, site.name)
    other = _other_server(site, current.manifest, unit_runs=facts.server_running)
    gpus = GpuWatch(site.shell, site.host.server.tensor_parallel)
    result = _load(site, work, current.manifest, gpus, each)
    window = window_of(result)
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
        more=[
            *other,
            *gpu_doubts(gpus.idle_utilization, gpus.during.heat, state),
            *left_out(work),
            *same_counts(before.counts if before else None, counts_of(window)),
        ],
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
        counts=counts_of(window),
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
