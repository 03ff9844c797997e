"""invoke drafter: whether a drafter's config is right, on a host or in folders of this machine; changes nothing."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from inventory.errors import ExitCode, SpecrailError, UsageError
from inventory.models import Drafter, Host
from playbooks.cli import plain_console, print_json, report, run_verb
from playbooks.flags import json_object, whole_number
from playbooks.reach import get_in
from playbooks.site import Site
from playbooks.survey import Survey, survey
from roles.drafter import launch, local, sarif, text
from roles.drafter.assess import assess, assess_files, wanted_config
from roles.drafter.check import Report
from roles.drafter.config import Row, diff
from roles.drafter.engines import traits
from roles.drafter.finding import Finding

VERB = "drafter"
_ROW = ("field", "running", "wanted")


@dataclass(frozen=True)
class Options:
    """Flags. path, target, tokenizer: on this machine; the others go over what a host's inventory says."""

    path: str | None = None
    target: str | None = None
    tokenizer: str | None = None
    launch: str | None = None
    method: str | None = None
    engine: str | None = None
    tokens: str | None = None
    drafter_config: str | None = None
    repository: str | None = None
    revision: str | None = None

    @property
    def only_local(self) -> dict[str, str | None]:
        """Those that say nothing to a host."""
        return {"PATH": self.path, "--target": self.target, "--tokenizer": self.tokenizer, "--launch": self.launch}


@dataclass(frozen=True)
class DrafterOutcome:
    """What a check found.

    changes: what a deploy would change in the config that runs now; None where nothing runs, or it cannot be read
    """

    subject: str
    report: Report | None
    changes: tuple[Row, ...] | None = None
    findings: tuple[Finding, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", self.report.findings if self.report else ())

    @property
    def exit_code(self) -> ExitCode:
        """Warnings are no failure."""
        return ExitCode.DONE if self.report is None or self.report.ok else ExitCode.FAILED

    def as_json(self) -> dict[str, object]:
        """ok, findings, unknowable; of a host also what would change."""
        rows = None if self.changes is None else [dict(zip(_ROW, row, strict=True)) for row in self.changes]
        return {**text.as_json(self.report or Report((), ())), **({} if rows is None else {"changes": rows})}

    def render(self) -> str:
        """A block a finding."""
        if self.report is None:
            return f"{self.subject}: no drafter is wanted here"
        lines = [f"{self.subject}: {text.counts(self.findings)}", text.table(self.report).rstrip()]
        if self.changes:
            lines.append("against the config that runs now:")
            lines += [
                f"      {field}: {before or 'absent'} -> {after or 'absent'}" for field, before, after in self.changes
            ]
        return "\n".join(lines)


def run(hosts: Sequence[str], inventory: str | None, options: Options, *, as_json: bool, as_sarif: bool) -> int:
    """Check on hosts, or in folders of this machine. Returns the exit code: 1 when there is an error."""
    try:
        _one_form(as_json=as_json, as_sarif=as_sarif)
        if options.path is None and options.launch is None and options.target is None:
            return _hosts(hosts, inventory, options, as_json=as_json, as_sarif=as_sarif)
        if hosts:
            given = next(name for name, value in options.only_local.items() if value is not None)
            raise UsageError(
                f"--host and {given} do not go together: one is a host's folders, the other a folder here",
                tries=[f"invoke drafter --host {hosts[0]}", f"invoke drafter {options.path or 'PATH'}"],
            )
        outcome = check_files(options)
    except SpecrailError as error:
        return report(error, plain_console(sys.stderr), as_json=as_json or as_sarif, verb=VERB)
    if as_sarif:
        print_json(sarif.document({outcome.subject: outcome.findings}))
    elif as_json:
        print_json(
            {"verb": VERB, "path": outcome.subject, **outcome.as_json(), "exit_code": int(outcome.exit_code)},
        )
    else:
        sys.stdout.write(f"{outcome.render()}\n")
    return int(outcome.exit_code)


def check_files(options: Options) -> DrafterOutcome:
    """Judge a drafter's folder, or its config.json alone, or only what is to be passed to the engine.

    Raises UsageError for a path that is not there, or with nothing of a drafter in it.
    """
    path, target, tokenizer = (_path(one) for one in (options.path, options.target, options.tokenizer))
    have = local.read(path, target, tokenizer)
    if options.drafter_config is None and path is not None:
        _is_a_drafter(path)
    if options.drafter_config is not None:
        have = replace(have, drafter_config=json_object("drafter-config", options.drafter_config))
    asked = launch.read(options.launch) if options.launch is not None else launch.Launch()
    tokens = whole_number("tokens", options.tokens)
    found = assess_files(
        have,
        replace(asked, tokens=tokens) if tokens is not None else asked,
        traits(options.engine),
        method=options.method,
        repository=options.repository,
        revision=options.revision,
        config_wanted=options.path is not None or options.drafter_config is not None,
    )
    return DrafterOutcome(options.path or "launch", found)


def check_host(site: Site, options: Options) -> DrafterOutcome:
    """Judge the drafter that a host's inventory wants, in the folders as they are there. Two execs."""
    flags = {"tokens": whole_number("tokens", options.tokens), "repository": options.repository}
    flags |= {"revision": options.revision, "method": options.method}
    site.change({f"drafter.{key}": value for key, value in flags.items() if value is not None})
    if options.drafter_config is not None:
        site.change({"drafter.config": json_object("drafter-config", options.drafter_config)})
    host = site.host
    if host.drafter is None:
        return DrafterOutcome(site.name, None)
    get_in(site)
    seen = survey(site)
    changes = _changes(site, wanted_config(host.drafter, seen.drafter))
    return DrafterOutcome(site.name, judge(host, host.drafter, seen, options.engine), changes)


def judge(host: Host, drafter: Drafter, seen: Survey, version: str | None = None) -> Report:
    """What the check says of `drafter` in a host's folders. version: of an engine that is not the host's."""
    kind, _, number = host.engine.source.partition(":")
    pull_request = int(number) if kind == "pr" and version is None else None
    engine = traits(version or engine_version(host, seen), pull_request)
    gpus = tuple(gpu.name for gpu in seen.gpu.gpus)
    return assess(drafter, seen.drafter, engine, host.server, gpus=gpus or None)


def engine_version(host: Host, seen: Survey) -> str | None:
    """The version of the engine that will run: of the newest venv from the wanted source, else what a release says."""
    built = [venv for venv in seen.engine.venvs.values() if venv.source == host.engine.source and venv.version]
    if built:
        return max(built, key=lambda venv: venv.built_at or "").version
    kind, _, number = host.engine.source.partition(":")
    return number if kind == "release" else None


def _changes(site: Site, wanted: dict[str, object] | None) -> tuple[Row, ...] | None:
    running = site.shell.read(f"{site.layout.base}/current/drafter/config.json")
    try:
        config = json.loads(running or b"")
    except (ValueError, RecursionError):
        return None
    return diff(config, wanted) if isinstance(config, dict) and wanted is not None else None


def _hosts(hosts: Sequence[str], inventory: str | None, options: Options, *, as_json: bool, as_sarif: bool) -> int:
    if options.tokenizer is not None:
        raise UsageError("--tokenizer is of a folder here; a host's is read beside its model")
    found: dict[str, tuple[Finding, ...]] = {}

    def check(site: Site) -> DrafterOutcome:
        outcome = check_host(site, options)
        found[site.name] = outcome.findings
        return outcome

    def as_document(answers: list[dict[str, object]]) -> dict[str, object]:
        failures = {str(one["host"]): str(one.get("what") or one["error"]) for one in answers if "error" in one}
        return sarif.document(found, failures)

    document: Callable[[list[dict[str, object]]], dict[str, object]] | None = as_document if as_sarif else None
    return run_verb(
        VERB,
        check,
        hosts=hosts,
        inventory=inventory,
        as_json=as_json or as_sarif,
        stop_at_failure=False,
        document=document,
    )


def _one_form(*, as_json: bool, as_sarif: bool) -> None:
    if as_json and as_sarif:
        raise UsageError("--json and --sarif are two forms of one answer: choose one")


def _is_a_drafter(path: Path) -> None:
    """An empty folder or a picture is a path that was mistyped: no drafter has errors then."""
    tries = ["invoke drafter FOLDER", "invoke drafter config.json --target FOLDER"]
    if path.is_dir() and not any(path.iterdir()):
        raise UsageError(f"{path} is an empty folder: a drafter's config.json and weights are wanted", tries=tries)
    if path.is_file() and not local.is_text(path):
        raise UsageError(f"{path} is not text: a drafter's config.json is wanted, or its folder", tries=tries)


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text is not None else None
