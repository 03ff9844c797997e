"""invoke acceptance: what an engine's own words and counters say about its drafts, with a verdict."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from inventory.errors import ExitCode, SpecrailError, UsageError
from playbooks import evidence, remembered
from playbooks.cli import CHECKOUT, print_json
from playbooks.site import Site, history_in, state_folder
from roles.acceptance.against import compare
from roles.acceptance.judgement import Judgement, judge
from roles.acceptance.judgement_text import as_text
from roles.acceptance.reading import Reading
from roles.acceptance.since import since

_CODES = {"pass": ExitCode.DONE, "fail": ExitCode.FAILED, "inconclusive": ExitCode.INCONCLUSIVE}
_MOST_SECONDS = 3600.0


@dataclass(frozen=True)
class Options:
    """Flags. seconds counts /metrics for so long instead of reading the log; compare is two of whatever can be read."""

    since: str | None = None
    seconds: str | None = None
    compare: tuple[str, ...] = ()


@dataclass(frozen=True)
class AcceptanceOutcome:
    """A judgement as a verb's answer."""

    judgement: Judgement

    @property
    def exit_code(self) -> ExitCode:
        """0 pass, 1 fail, 4 inconclusive."""
        return _CODES[self.judgement.outcome]

    def as_json(self) -> dict[str, object]:
        """All of it."""
        return self.judgement.as_json()

    def render(self) -> RenderableType:
        """A few lines."""
        return as_text(self.judgement)


def run(site: Site, options: Options) -> AcceptanceOutcome:
    """Judge a host now, or compare two of its releases (or a file with one). Raises UsageError."""
    policy, pair, seconds = site.host.gate, _pair(options), _seconds(options)
    if pair:
        sides = (_side(site, name) for name in pair)
        before, after = (
            judge(_cut(reading, options), label=label, policy=policy, host=site.name) for label, reading in sides
        )
        return AcceptanceOutcome(compare(before, after, policy=policy, host=site.name))
    reading = evidence.from_host(site) if seconds is None else evidence.from_counters(site, seconds)
    return AcceptanceOutcome(judge(_cut(reading, options), label=site.name, policy=policy, host=site.name))


def run_files(logs: Sequence[str], options: Options, *, as_json: bool) -> int:
    """Judge files or stdin: needs no inventory. Returns the exit code."""
    try:
        outcome = _of_files(logs, options)
    except SpecrailError as error:
        sys.stderr.write(f"{error.at('acceptance')}\n")
        if as_json:
            print_json({"verb": "acceptance", **error.as_json()})
        return int(error.exit_code)
    if as_json:
        print_json({"verb": "acceptance", **outcome.as_json(), "exit_code": int(outcome.exit_code)})
    else:
        sys.stdout.write(f"{outcome.render()}\n")
    return int(outcome.exit_code)


def _of_files(logs: Sequence[str], options: Options) -> AcceptanceOutcome:
    pair = _pair(options)
    if _seconds(options) is not None:
        raise UsageError("--seconds counts on a host", tries=["invoke acceptance --host NAME --seconds 60"])
    if pair and logs:
        raise UsageError("--compare names both of its files itself", tries=["invoke acceptance --compare A B"])
    if pair:
        sides = (_file_or_measurement(name) for name in pair)
        before, after = (judge(_cut(reading, options), label=label) for label, reading in sides)
        return AcceptanceOutcome(compare(before, after))
    if not logs:
        raise UsageError(
            "nothing to read: a host, a log or two things to compare are wanted",
            tries=["invoke acceptance --log FILE", "invoke acceptance --host NAME"],
        )
    return AcceptanceOutcome(_judged(logs, options))


def _pair(options: Options) -> tuple[str, ...]:
    if options.compare and len(options.compare) != 2:
        tries = ["invoke acceptance --compare BEFORE AFTER"]
        raise UsageError(f"--compare wants two things, not {len(options.compare)}", tries=tries)
    return options.compare


def _seconds(options: Options) -> float | None:
    if options.seconds is None:
        return None
    try:
        seconds = float(options.seconds)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MOST_SECONDS:
        raise UsageError(f"--seconds wants a number above 0, at most {_MOST_SECONDS:g}, not {options.seconds!r}")
    return seconds


def _judged(names: Sequence[str], options: Options) -> Judgement:
    return judge(_cut(evidence.from_files(names), options), label=evidence.label(names))


def _side(site: Site, name: str) -> tuple[str, Reading]:
    """A file, a measurement of the history or a release: what it is called, and what it says."""
    if not _is_file(name) and remembered.is_named(name):
        return remembered.find(site.history, name, site.name)
    return name, evidence.from_files([name]) if _is_file(name) else evidence.from_release(site, name)


def _file_or_measurement(name: str) -> tuple[str, Reading]:
    if not _is_file(name) and remembered.is_named(name):
        return remembered.find(history_in(state_folder(CHECKOUT)), name, None)
    if not _is_file(name):
        raise UsageError(
            f"{name!r} is no run of the history and no file, and releases are looked for on a host",
            tries=[
                "invoke history --all",
                "invoke acceptance --compare BEFORE.log AFTER.log",
                "invoke acceptance --host NAME --compare RELEASE RELEASE",
            ],
        )
    return evidence.label([name]), evidence.from_files([name])


def _is_file(name: str) -> bool:
    return name == evidence.STDIN or Path(name).exists()


def _cut(reading: Reading, options: Options) -> Reading:
    return reading if options.since is None else since(reading, options.since)
