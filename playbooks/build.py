"""Bringing the engine's venv into being: once, detached on the host, found again after a broken line."""

from inventory.errors import EngineError
from inventory.shell import command
from inventory.ssh.job import run_job
from playbooks.inside import Inside
from playbooks.site import Site
from roles.engine import build, provenance
from roles.engine.explain import explain


def engine(site: Site, inside: Inside) -> str | None:
    """Build it where it is not built yet. Returns the version that its provenance says. Raises EngineError."""
    plan = inside.engine
    if plan.build:
        if plan.push is not None:
            with site.talk.work("engine", f"send uv {plan.push.version}") as work:
                site.shell.run(f"umask 022; {command('mkdir', '-p', plan.uv.rpartition('/')[0])}")
                site.shell.put(plan.push.path, plan.uv)
                work.done(f"sent uv {plan.push.version} ({plan.push.size_bytes / 1e6:.0f} MB)")
        _build(site, inside)
    text = site.shell.read(f"{plan.venv}/{provenance.FILE}")
    built = provenance.read(text.decode(errors="replace")) if text else None
    if built is None:
        raise EngineError(
            f"{plan.venv} has no readable {provenance.FILE}", where=["engine"], log=f"invoke logs --host {site.name}"
        )
    return built.version


def _build(site: Site, inside: Inside) -> None:
    name = inside.engine.venv.rsplit("/", 1)[-1]
    title = f"{site.host.engine.kind} {inside.resolution.label}"
    site.if_interrupted = f"the build of {name} goes on on the host; the next deploy finds it"

    with site.talk.work("engine", f"build {title}") as work:

        def line(text: str) -> None:
            if (phase := build.phase(text)) is not None:
                work.say(phase)

        result = run_job(
            site.shell,
            f"build-{name}",
            inside.build_script,
            f"{site.layout.base}/jobs",
            timeout_s=site.host.engine.build_timeout_s,
            # Not the script's text: once a build has installed what the host lacked, a later look plans without that.
            outcome=inside.engine.venv,
            on_line=line,
            on_wait=lambda seconds: work.say(
                f"{site.name} is out of reach for {seconds:.0f} s; the build goes on there"
            ),
        )
        if not result.ok:
            raise explain("\n".join(result.tail), result.exit_status, title=title)
        work.done(f"built {name}")
    site.if_interrupted = f"{name} is built; nothing was switched"
