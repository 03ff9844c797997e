"""invoke deploy: from what a host is to what its inventory says; only what passes the gate stays."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from pydantic import JsonValue
from rich.console import RenderableType

from inventory.errors import EngineError, ExitCode, PreflightError, SpecrailError, UnreachableError, UsageError
from playbooks import build, container
from playbooks.bringup import bring_up
from playbooks.changing import DeployOutcome, locked, record
from playbooks.container import Outside
from playbooks.desired import manifest_of, staging_of
from playbooks.flags import json_object, whole_number
from playbooks.inside import Inside, plan_inside
from playbooks.reach import wait_for_ssh
from playbooks.site import Site
from playbooks.survey import Survey, gpu_record, release_facts, survey
from playbooks.tokens import tokens_changed
from playbooks.verify import first_answer, health, start, stored_baseline
from roles.release import control, prune, stage
from roles.server.health import wrong_model
from roles.step import Step

_RESTART = Step("server", "restart", "start the server again")


@dataclass(frozen=True)
class Options:
    """Flags."""

    tokens: str | None = None
    drafter_config: str | None = None
    allow_drafter_errors: bool = False
    update: bool = False
    adopt: bool = False
    inconclusive: str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class PlanOutcome:
    """What a deploy would do."""

    host: str
    steps: tuple[Step, ...]
    notes: tuple[str, ...]
    exit_code: ExitCode = ExitCode.DONE

    def as_json(self) -> dict[str, object]:
        """One object a step."""
        return {
            "outcome": "changes" if any(step.changes for step in self.steps) else "unchanged",
            "steps": [step.as_json() for step in self.steps],
            "notes": list(self.notes),
        }

    def render(self) -> RenderableType:
        """One line: the steps themselves were told already."""
        count = sum(step.changes for step in self.steps)
        if not count:
            return f"{self.host}: nothing to do"
        steps = "1 step" if count == 1 else f"{count} steps"
        return f"{self.host}: {steps}, nothing was changed; to carry them out: invoke deploy --host {self.host}"


def run(site: Site, options: Options) -> DeployOutcome | PlanOutcome:
    """Look, plan, and carry out."""
    site.change(_changes(site, options))
    if options.drafter_config is not None:
        site.drafter_flags = ("--drafter-config", options.drafter_config)
    site.talk.headline(f"{site.verb} {site.name} (container {site.host.container.ctid} on {site.node_name})")
    with site.talk.work("preflight", "look at the node, the container and the host") as work:
        outside = container.look(site, adopt=options.adopt)
        seen = survey(site) if outside.ready else None
        inside = _foresee(site, outside, seen, options) if seen else None
        work.done("the node, the container and the host were asked; nothing is in the way")
    steps = (*outside.steps, *(inside.steps if inside else _outline(site)))
    notes = (*outside.notes, *(inside.notes if inside else ()), *_not_kept(options))
    if options.dry_run or any(step.changes for step in steps):
        site.talk.plan(list(steps))
    for note in notes:
        site.talk.note(f"note: {note}")
    if options.dry_run:
        return PlanOutcome(site.name, steps, notes)
    if inside is not None and seen is not None and not any(step.changes for step in steps):
        return _nothing_to_do(site, seen, steps, notes)
    if not outside.ready:
        container.apply(site, outside)
        wait_for_ssh(site)
        outside = replace(outside, steps=(), reshapes=False)
    try:
        with locked(site), record(site, None, tuple(step.summary for step in steps if step.changes)):
            if seen and seen.release.current:
                site.if_interrupted = f"nothing was changed: {seen.release.current} is in service as before"
            container.apply(site, outside)
            if outside.reshapes:
                wait_for_ssh(site)
            if inside is None or seen is None or _moved_on(site, seen):
                seen = survey(site)
                inside = plan_inside(site, seen, options)
            return _carry_out(site, seen, inside, steps, notes)
    except UnreachableError as error:
        if not error.tries:  # else it is told already what becomes of the host
            error.why = (*error.why, f"What is left: {site.if_interrupted}.")
            error.tries = (f"invoke deploy --host {site.name}   (again, when the host is back)",)
        raise


def _foresee(site: Site, outside: Outside, seen: Survey, options: Options) -> Inside | None:
    """The plan for the inside; None where what is in its way may be what the container's own steps bring."""
    try:
        return plan_inside(site, seen, options)
    except (PreflightError, EngineError):
        if outside.reshapes:
            return None
        raise


def _carry_out(
    site: Site, seen: Survey, inside: Inside, steps: tuple[Step, ...], notes: tuple[str, ...]
) -> DeployOutcome:
    version = build.engine(site, inside)
    if inside.install_control:
        control.install(site.shell, site.layout, inside.files)
    if inside.release_step.action == "nothing":
        wrong = _why_it_does_not_serve(site)
        return _start_again(site, seen, steps, notes, wrong) if wrong else _same(site, seen, steps, notes)
    want = replace(inside.wanted, engine={**inside.wanted.engine, "version": version})
    manifest = manifest_of(want, site.host, datetime.now(UTC), inside.forced)
    with site.talk.work("release", f"write {manifest.id}") as work:
        stage.stage(site.shell, site.layout, staging_of(manifest, want, site.host, site.layout, site.server_secrets))
        site.if_interrupted = f"release {manifest.id} lies beside the running one, unused"
        work.done(f"wrote {manifest.id}: manifest, launch script, environment, drafter config")
    baseline = stored_baseline(site, seen.release, seen.release.promoted)
    arrival = bring_up(site, manifest, before=seen.release, baseline=baseline, gpu=gpu_record(seen.gpu))
    tidy(site, seen)
    return DeployOutcome(site.name, site.operation, steps, manifest.id, arrival, notes=notes)


def _nothing_to_do(site: Site, seen: Survey, steps: tuple[Step, ...], notes: tuple[str, ...]) -> DeployOutcome:
    """Nothing, unless the server that should serve does not."""
    wrong = _why_it_does_not_serve(site)
    if wrong is None:
        return _same(site, seen, steps, notes)
    with locked(site), record(site, seen.release.current, (_RESTART.summary,)):
        return _start_again(site, seen, steps, notes, wrong)


def _why_it_does_not_serve(site: Site) -> str | None:
    try:
        now = health(site)
    except SpecrailError as error:
        return error.what
    return wrong_model(now, site.host.model.served_name) if now.serves else now.detail or "it does not answer"


def _start_again(
    site: Site, seen: Survey, steps: tuple[Step, ...], notes: tuple[str, ...], wrong: str
) -> DeployOutcome:
    site.talk.warn(f"the release is as wanted, but the server does not serve: {wrong}")
    site.control.stop()
    offset = site.control.log_end()
    site.control.start()
    started = start(site, offset)
    with site.endpoint() as endpoint:
        first_answer(site, endpoint, started)
    current = seen.release.current
    words = f"{site.name}: {current} was started again and answers"
    return DeployOutcome(site.name, site.operation, (*steps, _RESTART), current, words=words, notes=notes)


def _same(site: Site, seen: Survey, steps: tuple[Step, ...], notes: tuple[str, ...]) -> DeployOutcome:
    current = seen.release.current
    done = "done" if any(step.changes for step in steps) else "nothing to do"
    words = f"{site.name}: {done}; {current} is promoted and serves {site.host.model.served_name}"
    return DeployOutcome(site.name, site.operation, steps, current, words=words, notes=notes)


def _moved_on(site: Site, seen: Survey) -> bool:
    """Whether somebody else changed the host between the look and the lock."""
    now = release_facts(site)
    return (now.current, now.promoted, now.pending) != (
        seen.release.current,
        seen.release.promoted,
        seen.release.pending,
    )


def _outline(site: Site) -> tuple[Step, ...]:
    """What will follow once there is a container to look into."""
    host = site.host
    drafter = f", {host.drafter.method} with {host.drafter.tokens} tokens" if host.drafter else ""
    return (
        Step("engine", "build", f"build engine {host.engine.kind} from {host.engine.source}"),
        Step("release", "create", f"write a release of {host.model.served_name}{drafter}"),
        Step("server", "activate", "switch to it, verify it, and keep it if it passes its gate"),
    )


def tidy(site: Site, seen: Survey) -> None:
    """Take away the releases and venvs that nothing can want back."""
    after = release_facts(site)
    gone = prune.removable(after, site.host.server.keep_releases)
    venvs = prune.orphans(after, [*seen.engine.venvs], gone)
    if gone or venvs:
        with site.talk.work("release", "prune") as work:
            prune.remove(site.shell, site.layout, gone, venvs)
            work.done(f"pruned {len(gone)} releases and {len(venvs)} venvs that nothing can want back")


def _not_kept(options: Options) -> tuple[str, ...]:
    """What the next plain deploy will take back, because only this one was told."""
    said = {"drafter.tokens": options.tokens, "drafter.config": options.drafter_config}
    return tuple(
        f"{key} is this deploy's alone; to keep it, say it in the inventory (invoke inventory.show names the line)"
        for key, flag in said.items()
        if flag is not None
    )


def _changes(site: Site, options: Options) -> dict[str, JsonValue]:
    """Flags as inventory values. Raises UsageError."""
    tokens = whole_number("tokens", options.tokens, least=0)
    changes = {} if tokens is None else tokens_changed(site.host, tokens, name=site.name)
    if options.drafter_config is not None:
        changes["drafter.config"] = json_object("drafter-config", options.drafter_config)
    if options.inconclusive is not None:
        changes["gate.inconclusive"] = _policy(options.inconclusive)
    return changes


def _policy(text: str) -> Literal["keep", "revert"]:
    if text not in {"keep", "revert"}:
        raise UsageError(f"--inconclusive is keep or revert, not {text!r}")
    return "keep" if text == "keep" else "revert"
