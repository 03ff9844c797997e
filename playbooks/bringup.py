"""Switching a host to a release and deciding whether it stays: shared by deploy and rollback."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from inventory.errors import DeadlineExceeded, LockedError, ServerError, SpecrailError, UnreachableError
from inventory.models import Gate, Host
from playbooks.site import Site
from roles.acceptance import baseline as baselines
from roles.acceptance.baseline import Baseline
from roles.acceptance.conditions import Conditions
from roles.acceptance.gate import GateResult, Progress, run_gate
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

Ending = Literal["promoted", "kept", "reverted", "withdrawn"]
"""What is in service in the end: the release and its way back is moved, the release, the one before, or nothing."""

Gpu = tuple[str | None, str | None]
"""What is written beside a measurement: the GPUs' name, and the driver's version."""

_MARGIN_S = 120
"""What the host waits for a confirmation beyond all that may take its time; less where a whole start takes less."""

_FIRST_ANSWER_S = 300
_RECHECK_PROMPTS = 5


@dataclass(frozen=True)
class Arrival:
    """A release that was brought up, and how it ended. reverted_to is verified when `back` says so."""

    release: str
    ending: Ending
    gate: GateResult | None
    started: Started | None
    previous: str | None
    back: str | None = None


def bring_up(
    site: Site,
    manifest: Manifest,
    *,
    before: ReleaseFacts,
    baseline: Baseline | None,
    gpu: Gpu,
) -> Arrival:
    """Switch to `manifest`'s release under an armed revert, verify it, and confirm or go back.

    before: the host as it was; what was promoted then is the way back
    Raises what the server died of; the host is back at the release before by then, verified, and the error says so.
    """
    host, control = site.host, site.control
    previous = before.promoted if before.release(before.promoted) else None
    # A nonce names one activation, so that a late timer or a second controller cannot touch another one.
    nonce = site.operation
    within_s = confirm_within_s(host)
    way_back = f"the host goes back to {previous}" if previous else "the host stops the server"
    if previous == manifest.id:  # a rollback from something that was never promoted
        way_back = "the host starts it anew"
    site.if_interrupted = (
        f"release {manifest.id} is in service, not confirmed: {way_back} by itself within {within_s:.0f} s"
    )
    gate: GateResult | None = None
    started: Started | None = None
    try:
        with site.talk.work("release", f"switch to {manifest.id}") as work:
            offset = control.activate(manifest.id, nonce, confirm_within_s=within_s, previous=previous)
            work.done(f"switched to {manifest.id}; {way_back} unless confirmed")
        started = start(site, offset)
        warn_of_foreign_graphs(site, manifest, started)
        with site.endpoint() as endpoint:
            first_answer(site, endpoint, started)
            if manifest.drafter is not None:
                gate = measure(site, endpoint, started, manifest, baseline, gpu, host.gate)
                site.shell.write(
                    f"{site.layout.release(manifest.id)}/gate.json", json.dumps(gate.as_json()).encode(), mode=0o644
                )
                _remember(site, manifest, gate, started)
    except LockedError:
        raise  # nothing of ours to go back from
    except SpecrailError as error:
        raise _went_back(site, nonce, previous, before, error) from error
    outcome = gate.verdict.outcome if gate else "pass"
    if outcome == "pass":
        site.shell.close()  # the confirmation comes over a new connection: one that only lives on proves nothing
        try:
            control.confirm(nonce)
        except (UnreachableError, DeadlineExceeded) as error:
            error.why = (*error.why, f"Its gate said pass. Unless it is confirmed after all, {way_back} by itself.")
            error.tries = (f"invoke status --host {site.name}", f"invoke deploy --host {site.name}")
            raise
        site.if_interrupted = f"release {manifest.id} is promoted"
        return Arrival(manifest.id, "promoted", gate, started, previous)
    if outcome == "inconclusive" and host.gate.inconclusive == "keep":
        control.keep(nonce)
        site.if_interrupted = f"release {manifest.id} is in service, not promoted"
        return Arrival(manifest.id, "kept", gate, started, previous)
    back = go_back(site, nonce, previous, before, f"gate: {outcome}")
    return Arrival(manifest.id, "reverted" if previous else "withdrawn", gate, started, previous, back)


def confirm_within_s(host: Host) -> float:
    """How long the host waits for a confirmation before it goes back by itself, seconds from the switch."""
    server = host.server
    slack_s = min(_MARGIN_S, server.start_timeout_s)
    return server.stop_timeout_s + server.start_timeout_s + host.gate.timeout_s + slack_s


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


def go_back(site: Site, nonce: str, previous: str | None, before: ReleaseFacts, why: str) -> str:
    """Revert, and verify what was reverted to. Returns the sentence that says what is in service now."""
    site.if_interrupted = "the host is going back to the release before"
    with site.talk.work("release", f"go back to {previous or 'nothing'}") as work:
        offset = site.control.revert(nonce, why)
        if offset is None:
            work.done("nothing was pending any more: the host had gone back by itself, or had not switched")
            offset = site.control.log_end()
        else:
            work.done(f"back at {previous}" if previous else "server stopped; there was no release before")
    if previous is None:
        return "there was no release before: the server is stopped"
    started = start(site, offset)
    site.if_interrupted = f"release {previous} is in service again"
    found = before.release(previous)
    with site.endpoint() as endpoint:
        first_answer(site, endpoint, started)
        if found is None or found.manifest is None or found.manifest.drafter is None:
            return f"reverted to {previous}, which answers"
        policy = replace_prompts(site.host.gate, _RECHECK_PROMPTS)
        again = measure(site, endpoint, started, found.manifest, None, (None, None), policy, role="recheck")
    length = again.verdict.window.acceptance_length
    accepts = f"accepts {length:.2f}" if length else "accepts nothing that can be counted"
    return f"reverted to {previous}, which answers and {accepts}"


def replace_prompts(policy: Gate, prompts: int) -> Gate:
    """The same policy with fewer prompts."""
    return policy.model_copy(update={"prompts": min(prompts, policy.prompts)})


def health(site: Site) -> Health:
    """Ask the server; no waiting."""
    with site.endpoint() as endpoint:
        return probe(_getter(endpoint))


def explained(site: Site, started: Started, what: str, error: SpecrailError) -> SpecrailError:
    """What a request failed of, as the engine's log tells it. Raises UnreachableError when it cannot be asked."""
    text, _ = site.control.watch(started.log_offset, 2)
    return explain([*started.log_lines[-50:], *text.splitlines()], fallback=f"{what} ({error.what})", host=site.name)


def _went_back(
    site: Site, nonce: str, previous: str | None, before: ReleaseFacts, error: SpecrailError
) -> SpecrailError:
    """The error to raise after going back: the first one, with what is in service now."""
    kind = "health" if isinstance(error, ServerError | DeadlineExceeded) else "error"
    try:
        back = go_back(site, nonce, previous, before, f"{kind}: failed")
    except UnreachableError as second:
        again = () if second.what == error.what else (f"Going back was not possible either: {second.what}",)
        by_itself = f"The host goes back to {previous or 'nothing'} by itself"
        error.why = (
            *error.why,
            *again,
            f"{by_itself}, at the latest {confirm_within_s(site.host):.0f} s after the switch.",
        )
        error.tries = (*error.tries, f"invoke status --host {site.name}")
        return error
    except SpecrailError as second:
        error.why = (
            *error.why,
            f"Going back did not end well either: {second.what}",
            f"{previous} is current again, but does not serve; the host starts it again and again."
            if isinstance(second, ServerError | DeadlineExceeded)
            else f"The host goes back to {previous or 'nothing'} by itself when nobody confirms.",
        )
        return error
    error.why = (*error.why, f"In service now: {back}.")
    return error


def _remember(site: Site, manifest: Manifest, gate: GateResult, started: Started) -> None:
    window = gate.verdict.window
    site.history.add(
        Run(
            kind="gate",
            host=site.name,
            release=manifest.id,
            at=datetime.now(UTC),
            conditions=vars(gate.conditions),
            summary={"start_s": round(started.seconds, 2)},
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
