"""Whether a server that was started is what it should be: phases, one completion, and its acceptance."""

from collections.abc import Callable
from datetime import UTC, datetime

from inventory.errors import ServerError, SpecrailError, UnreachableError
from inventory.models import Gate
from playbooks.site import Site
from roles.acceptance import baseline as baselines
from roles.acceptance.baseline import Baseline
from roles.acceptance.gate import GateResult, Progress, run_gate
from roles.conditions import Conditions
from roles.engine.serve import cache_folder
from roles.load.client import complete_sync, get
from roles.load.endpoint import Endpoint
from roles.load.history import Run
from roles.load.prompts import PromptSet, digest, load_prompts
from roles.release.facts import ReleaseFacts
from roles.release.manifest import Manifest
from roles.server.compile_cache import foreign_loads
from roles.server.health import Health, probe
from roles.server.signatures import explain
from roles.server.startup import Started, wait_until_serving

Gpu = tuple[str | None, str | None]
"""What is written beside a measurement: the GPUs' name, and the driver's version."""

_FIRST_ANSWER_S = 300


def start(site: Site, offset: int) -> Started:
    """Wait until the server serves, showing its phases."""
    with site.talk.work("server", "start") as work, site.endpoint() as endpoint:
        started = wait_until_serving(
            watch=site.control.watch,
            probe=lambda: probe(_getter(endpoint)),
            offset=offset,
            model=site.host.model.served_name,
            host=site.name,
            timeout_s=site.host.server.start_timeout_s,
            on_phase=lambda phase, seconds: work.say(f"{phase} ({seconds:.0f} s)"),
        )
        work.done(f"serves {', '.join(started.health.models)} after {started.seconds:.1f} s")
    return started


def warn_of_foreign_graphs(site: Site, manifest: Manifest, started: Started) -> None:
    """Say when the engine loaded graphs that may be another drafter config's: then this one is not what runs."""
    sha = (manifest.drafter or {}).get("config_sha256")
    own = cache_folder(site.layout.base, manifest.venv or "", str(sha) if sha else None)
    for path in foreign_loads(started.log_lines, own):
        site.talk.warn(
            f"compiled graphs were loaded from {path}, which other configs share: they may hold other target layers "
            "(server.env must not set VLLM_CACHE_ROOT)"
        )


def first_answer(site: Site, endpoint: Endpoint, started: Started) -> str:
    """One real completion: a drafter that does not fit lets /health be 200 and the first request die."""
    with site.talk.work("health", "one completion") as work:
        prompt = load_prompts(limit=1)[0]
        try:
            answer = complete_sync(endpoint, prompt, max_tokens=16, timeout_s=_FIRST_ANSWER_S)
        except SpecrailError as error:
            raise explained(site, started, "the server is up, but its first completion failed", error) from error
        if not answer.completion_tokens and not answer.text:
            raise ServerError(
                "the server answers its first completion with nothing", log=f"invoke logs --host {site.name}"
            )
        work.done(f"answers: {' '.join(answer.text.split())[:60]!r}")
    return answer.text


def measure(
    site: Site,
    endpoint: Endpoint,
    started: Started,
    manifest: Manifest,
    baseline: Baseline | None,
    gpu: Gpu,
    policy: Gate,
    *,
    role: str = "gate",
) -> GateResult:
    """Run the acceptance gate against the running server. Raises ServerError when that fails meanwhile."""
    prompts = load_prompts(limit=policy.prompts)
    conditions = conditions_of(manifest, prompts, policy, gpu)
    with site.talk.work(role, f"acceptance over {len(prompts)} prompts") as work:

        def progress(now: Progress) -> None:
            length = f", length {now.acceptance_length:.2f}" if now.acceptance_length else ""
            if work_is_worth_saying(now):
                work.say(f"{now.phase} {now.done}/{now.total}, {now.rounds} rounds{length}")

        try:
            result = run_gate(
                lambda prompt, limit: complete_sync(endpoint, prompt, max_tokens=limit, timeout_s=policy.timeout_s),
                lambda: get(endpoint, "/metrics")[1],
                prompts,
                policy,
                baseline,
                conditions,
                progress,
                release=manifest.id,
                host=site.name,
                method=str((manifest.drafter or {}).get("method") or "dflash"),
                flags=site.drafter_flags,
            )
        except (ServerError, UnreachableError) as error:
            raise explained(site, started, "the server failed while it was measured", error) from error
        length = result.verdict.length
        counted = f", length {length.estimate:.2f}, {result.verdict.window.rounds} rounds" if length else ""
        work.done(f"{result.verdict.outcome}{counted}", good=result.verdict.outcome == "pass")
    return result


def work_is_worth_saying(now: Progress) -> bool:
    """Not each of fifty prompts is news where every line stays on the screen."""
    return now.phase == "probe" or now.done in {1, now.total} or now.done % 10 == 0


def conditions_of(manifest: Manifest, prompts: PromptSet, policy: Gate, gpu: Gpu) -> Conditions:
    """What the gate's numbers depend on."""
    drafter = manifest.drafter or {}
    engine = manifest.engine
    name, driver = gpu
    return Conditions(
        engine=f"{engine.get('kind')} {engine.get('version') or engine.get('source')}"
        + (f"@{commit[:12]}" if (commit := engine.get("commit")) else ""),
        model=f"{manifest.model.get('path')}@{manifest.model.get('revision') or 'unknown'}",
        drafter=str(drafter["config_sha256"]) if drafter.get("config_sha256") else None,
        k=manifest.tokens,
        prompts=digest(prompts),
        temperature=0,
        thinking=None,
        concurrency=1,
        gpu=name,
        driver=driver,
        max_tokens=policy.max_tokens,
        method=str(drafter["method"]) if drafter.get("method") else "off",
    )


def stored_baseline(site: Site, facts: ReleaseFacts, release: str | None) -> Baseline | None:
    """What a release's gate measured, to compare with. A file that cannot be read is said, and stops nothing."""
    found = facts.release(release)
    if found is None or found.gate_text is None:
        return None
    try:
        return baselines.from_json(found.gate_text)
    except SpecrailError as error:
        site.talk.warn(error.what)
        return None


def health(site: Site) -> Health:
    """Ask the server; no waiting."""
    with site.endpoint() as endpoint:
        return probe(_getter(endpoint))


def explained(site: Site, started: Started, what: str, error: SpecrailError) -> SpecrailError:
    """What a request failed of, as the engine's log tells it. Raises UnreachableError when it cannot be asked."""
    text, _ = site.control.watch(started.log_offset, 2)
    return explain([*started.log_lines[-50:], *text.splitlines()], fallback=f"{what} ({error.what})", host=site.name)


def remember(site: Site, manifest: Manifest, gate: GateResult, started: Started) -> None:
    """Keep what the gate measured in the controller's history."""
    window = gate.verdict.window
    site.history.add(
        Run(
            kind="gate",
            host=site.name,
            release=manifest.id,
            at=datetime.now(UTC),
            conditions=vars(gate.conditions),
            summary={"start_s": round(started.seconds, 2), "baseline": gate.baseline.as_json()},
            counts={
                "rounds": window.rounds,
                "accepted": window.accepted,
                "drafted": window.drafted,
                "per_position": list(window.per_position),
                "k": window.k,
            },
            verdict=gate.verdict.outcome,
        )
    )


def _getter(endpoint: Endpoint) -> Callable[[str], tuple[int, str]]:
    return lambda path: get(endpoint, path)
