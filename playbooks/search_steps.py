"""The steps of a search: one candidate after the other on the host, then the best of them through the gate."""

import contextlib
import time
from dataclasses import dataclass, replace

from inventory.errors import DeadlineExceeded, LockedError, ServerError, SpecrailError, UnreachableError
from playbooks.beside import write_beside
from playbooks.bringup import bring_up, confirm_within_s, go_back
from playbooks.changing import DeployOutcome
from playbooks.deploy import Options as DeployOptions
from playbooks.deploy import tidy
from playbooks.search_outcome import SearchOutcome
from playbooks.search_state import Measured, SearchState
from playbooks.site import Site
from playbooks.survey import Survey, gpu_record, survey
from playbooks.verify import explained, start, stored_baseline, warn_of_foreign_graphs
from roles.acceptance.collapse import healthy_acceptance
from roles.acceptance.few_rounds import measure_few
from roles.acceptance.race import beaten_values, ranked, why_not
from roles.acceptance.session import Completion, Session
from roles.acceptance.window import PromptWindow, Window, pool
from roles.drafter.vary import Candidate
from roles.load.client import complete_sync, get
from roles.load.prompts import Prompt, load_prompts
from roles.release.manifest import Manifest
from roles.server.startup import Started


@dataclass
class Search:
    """One search while it goes on. seen: the host as it was before; nonce: of the activation that is pending."""

    site: Site
    seen: Survey
    candidates: tuple[Candidate, ...]
    state: SearchState
    measured: list[Measured]
    most_rounds: int
    nonce: str = ""


def measure_all(search: Search) -> None:
    """Try each candidate that nothing speaks against yet; what was measured is kept at once.

    Raises what is not a candidate's fault; the host has gone back by then, or does so by itself.
    """
    site = search.site
    for candidate in search.candidates:
        if any(one.choice == candidate.choice for one in search.measured):
            continue
        runners = [one.runner for one in search.measured]
        if reason := why_not(candidate.choice, beaten_values(runners, site.host.gate.confidence)):
            site.talk.note(f"{candidate.label}: not tried, {reason.by} beat {reason.value}")
            continue
        try:
            search.measured.append(_try(search, candidate))
        except (UnreachableError, LockedError):
            raise  # the host goes back by itself, or somebody else is in charge of it
        except KeyboardInterrupt:
            _leave(search)
            raise
        except SpecrailError as error:
            if search.nonce:
                back = go_back(site, search.nonce, _way_back(search), search.seen.release, "search: it could not go on")
                error.why = (*error.why, f"In service now: {back}.")
            raise
        search.state.save(search.measured)


def bring_up_best(search: Search, outcome: SearchOutcome) -> SearchOutcome:
    """Put the best candidate through the gate, or go back where there is none."""
    site, before = search.site, search.seen.release
    best = outcome.best
    if best is None:
        reason = "search: candidates cannot be told apart" if outcome.level else "search: nothing was measured"
        back = go_back(site, search.nonce or site.operation, _way_back(search), before, reason)
        return replace(outcome, in_service=back)
    release = next(one.release for one in search.measured if one.choice == best.choice)
    found = survey(site).release.release(release)
    manifest = found.manifest if found else None
    if manifest is None:
        manifest = _write(search, best)
    arrival = bring_up(
        site,
        manifest,
        before=before,
        baseline=stored_baseline(site, before, before.promoted),
        gpu=gpu_record(search.seen.gpu),
    )
    tidy(site, search.seen)
    return replace(outcome, arrival=DeployOutcome(site.name, site.operation, (), manifest.id, arrival))


def _leave(search: Search) -> None:
    """After a Ctrl-C: send the host back at once, not only at its deadline. What it goes back to is not waited for."""
    site, previous = search.site, _way_back(search)
    if not search.nonce:
        return
    with contextlib.suppress(SpecrailError):
        site.control.revert(search.nonce, "search: interrupted")
        there = f"{previous} starts again" if previous else "the server is stopped"
        site.if_interrupted = f"{there}, which was not waited for; the same command goes on with the search"


def _try(search: Search, candidate: Candidate) -> Measured:
    site = search.site
    manifest = _write(search, candidate)
    number = len(search.measured) + 1
    nonce = f"{site.operation}{number:02d}"
    previous, within_s = _way_back(search), confirm_within_s(site.host)
    way_back = f"the host goes back to {previous}" if previous else "the host stops the server"
    site.if_interrupted = (
        f"candidate {manifest.id} is in service: {way_back} by itself within {within_s:.0f} s; "
        "the same command goes on with the search"
    )
    started: Started | None = None
    windows: tuple[PromptWindow, ...] = ()
    failure: str | None = None
    with site.talk.work("release", f"switch to {manifest.id}") as work:
        offset = site.control.activate(manifest.id, nonce, confirm_within_s=within_s, previous=previous)
        search.nonce = nonce
        work.done(f"candidate {number} of {len(search.candidates)}, {candidate.label}: {manifest.id}")
    try:
        started = start(site, offset)
        warn_of_foreign_graphs(site, manifest, started)
        windows = _measure(search, started, candidate)
    except (ServerError, DeadlineExceeded) as error:
        failure = error.what
        site.talk.warn(f"{candidate.label}: {failure}")
    if failure is None and not pool(one.window for one in windows).rounds:
        failure = "no rounds were counted"
    took_s = started.seconds if started else None
    return Measured(candidate.choice, manifest.id, windows, failure, took_s, candidate.doubts)


def _write(search: Search, candidate: Candidate) -> Manifest:
    """The candidate's release, beside the running one."""
    site = search.site
    site.change({"drafter.config": dict(candidate.overlay)})
    return write_beside(site, DeployOptions(allow_drafter_errors=True))


def _measure(search: Search, started: Started, candidate: Candidate) -> tuple[PromptWindow, ...]:
    site = search.site
    gate = site.host.gate
    with site.endpoint() as endpoint, site.talk.work("search", candidate.label) as work:

        def send(prompt: Prompt, limit: int) -> Completion:
            return complete_sync(endpoint, prompt, max_tokens=limit, timeout_s=gate.timeout_s)

        def progress(counted: Window) -> None:
            length = f", length {counted.acceptance_length:.2f}" if counted.acceptance_length else ""
            work.say(f"{counted.rounds} rounds{length}")

        try:
            session = Session(send, lambda: get(endpoint, "/metrics")[1], time.monotonic, time.sleep)
            windows = measure_few(
                session,
                load_prompts(),
                healthy=_healthy(search),
                most_rounds=search.most_rounds,
                on_progress=progress,
            )
        except (ServerError, UnreachableError) as error:
            raise explained(site, started, "the server failed while it was measured", error) from error
        counted = pool(one.window for one in windows)
        length = counted.acceptance_length
        work.done(f"{candidate.label}: length {length:.2f}, {counted.rounds} rounds" if length else candidate.label)
    return windows


def _healthy(search: Search) -> float | None:
    """What a candidate must come near: the best one so far, else what is promoted, else the gate's floor."""
    gate = search.site.host.gate
    runners = ranked([one.runner for one in search.measured], gate.confidence)
    best = pool(one.window for one in runners[0].windows) if runners and not runners[0].failure else None
    if best is None:
        promoted = stored_baseline(search.site, search.seen.release, search.seen.release.promoted)
        best = pool(one.window for one in promoted.windows) if promoted else None
    return healthy_acceptance(gate.min_acceptance_length, best)


def _way_back(search: Search) -> str | None:
    release = search.seen.release
    return release.promoted if release.release(release.promoted) else None
