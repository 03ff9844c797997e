"""What a rule is: one small pure function about one thing, with an id, and the methods and engines that it is about."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from roles.drafter.evidence import Evidence
from roles.drafter.finding import Finding, Severity

DFLASH = frozenset({"dflash"})
WITH_WEIGHTS = frozenset({"dflash", "dspark", "eagle", "eagle3", "mlp_speculator", "mtp", "draft_model"})
ALL = WITH_WEIGHTS | {"ngram"}

Find = Callable[[Evidence], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """One check. engines: the versions of the engine that it is about, for people; None for all."""

    id: str
    methods: frozenset[str]
    engines: str | None
    find: Find

    @property
    def title(self) -> str:
        """What it checks, in one line."""
        return (self.find.__doc__ or "").strip().splitlines()[0]

    def check(self, evidence: Evidence) -> tuple[Finding, ...]:
        """What it says about this drafter; nothing when it is not about its method."""
        if evidence.drafter.method not in self.methods:
            return ()
        return tuple(replace(found, rule=self.id, engines=self.engines) for found in self.find(evidence))


def rule(name: str, *, methods: frozenset[str] = DFLASH, engines: str | None = None) -> Callable[[Find], Rule]:
    """Make a rule of a function that yields `error`, `warning` and `info`."""
    return lambda find: Rule(id=name, methods=methods, engines=engines, find=find)


def error(field: str, message: str, remedy: str, expected: object = None) -> Finding:
    """It will fail, or accept next to nothing."""
    return _finding("error", field, message, remedy, expected)


def warning(field: str, message: str, remedy: str, expected: object = None) -> Finding:
    """It is suspicious."""
    return _finding("warning", field, message, remedy, expected)


def info(field: str, message: str, remedy: str, expected: object = None) -> Finding:
    """It is unusual and legal."""
    return _finding("info", field, message, remedy, expected)


def _finding(severity: Severity, field: str, message: str, remedy: str, expected: object) -> Finding:
    plain = list(expected) if isinstance(expected, tuple) else expected
    return Finding(rule="", severity=severity, field=field, message=message, remedy=remedy, expected=plain)
