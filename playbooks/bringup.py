"""Switching a host to a release and deciding whether it stays: shared by deploy and rollback."""

import json
from dataclasses import dataclass
from typing import Literal

from inventory.errors import DeadlineExceeded, LockedError, ServerError, SpecrailError, UnreachableError
from inventory.models import Gate, Host
from playbooks.site import Site
from playbooks.verify import (
    Gpu,
    first_answer,
    measure,
    remember,
    start,
    warn_of_foreign_graphs,
)
from roles.acceptance.baseline import Baseline
from roles.acceptance.gate import GateResult
from roles.release.facts import ReleaseFacts
from roles.release.manifest import Manifest
from roles.server.startup import Started

Ending = Literal["promoted", "kept", "reverted", "withdrawn"]
"""What is in service in the end: the release and its way back is moved, the release, the one before, or nothing."""

_MARGIN_S = 120
"""What the host waits for a confirmation beyond all that may take its time; less where a whole start takes less."""

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


@dataclass(frozen=True)
class Trial:
    """A release that was switched to under an armed way back, and answers. nonce: of its activation."""

    nonce: str
    started: Started


def bring_up(
    site: Site,
    manifest: Manifest,
    *,
    before: ReleaseFacts,
    baseline: Baseline | None,
    gpu: Gpu,
    trial: Trial | None = None,
) -> Arrival:
    """Switch to `manifest`'s release under an armed revert, verify it, and confirm or go back.

    before:  the host as it was; what was promoted then is the way back
    trial:   the release serves already, and only its gate is missing
    Raises what the server died of; the host is back at the release before by then, verified, and the error says so.
    """
    host, control = site.host, site.control
    previous = before.promoted if before.release(before.promoted) else None
    # A nonce names one activation, so that a late timer or a second controller cannot touch another one.
    nonce = trial.nonce if trial else site.operation
    within_s = confirm_within_s(host)
    way_back = f"the host goes back to {previous}" if previous else "the host stops the server"
    if previous == manifest.id:  # a rollback from something that was never promoted
        way_back = "the host starts it anew"
    unconfirmed = f"not confirmed: {way_back} by itself within {within_s:.0f} s"
    site.if_interrupted = f"release {manifest.id} was being switched to, its server does not answer yet, {unconfirmed}"
    site.tries_if_interrupted = (
        f"invoke deploy --host {site.name}   (judges the release anew, without waiting for that)",
        *((f"invoke rollback --host {site.name}   (goes back now)",) if previous else ()),
    )
    if previous == manifest.id:
        site.tries_if_interrupted = (f"invoke rollback --host {site.name} --to {previous}",)
    gate: GateResult | None = None
    started = trial.started if trial else None
    try:
        if started is None:
            with site.talk.work("release", f"switch to {manifest.id}") as work:
                offset = control.activate(manifest.id, nonce, confirm_within_s=within_s, previous=previous)
                work.done(f"switched to {manifest.id}; {way_back} unless confirmed")
            started = start(site, offset)
            warn_of_foreign_graphs(site, manifest, started)
        with site.endpoint() as endpoint:
            if trial is None:
                first_answer(site, endpoint, started)
            site.if_interrupted = f"release {manifest.id} is in service, {unconfirmed}"
            if manifest.drafter is not None:
                gate = measure(site, endpoint, started, manifest, baseline, gpu, host.gate)
                site.shell.write(
                    f"{site.layout.release(manifest.id)}/gate.json", json.dumps(gate.as_json()).encode(), mode=0o644
                )
                remember(site, manifest, gate, started)
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
        site.if_interrupted, site.tries_if_interrupted = f"release {manifest.id} is promoted", ()
        return Arrival(manifest.id, "promoted", gate, started, previous)
    if outcome == "inconclusive" and host.gate.inconclusive == "keep":
        control.keep(nonce)
        site.if_interrupted, site.tries_if_interrupted = f"release {manifest.id} is in service, not promoted", ()
        return Arrival(manifest.id, "kept", gate, started, previous)
    back = go_back(site, nonce, previous, before, f"gate: {outcome}")
    return Arrival(manifest.id, "reverted" if previous else "withdrawn", gate, started, previous, back)


def confirm_within_s(host: Host) -> float:
    """How long the host waits for a confirmation before it goes back by itself, seconds from the switch."""
    server = host.server
    slack_s = min(_MARGIN_S, server.start_timeout_s)
    return server.stop_timeout_s + server.start_timeout_s + host.gate.timeout_s + slack_s


def go_back(site: Site, nonce: str, previous: str | None, before: ReleaseFacts, why: str) -> str:
    """Revert, and verify what was reverted to. Returns the sentence that says what is in service now."""
    site.if_interrupted = "the host is going back to the release before"
    site.tries_if_interrupted = (f"invoke status --host {site.name}",)
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
