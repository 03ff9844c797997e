"""How a search ended: the ranking with its intervals, what was not tried and why, and what is in service."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from inventory.errors import ExitCode
from playbooks.changing import DeployOutcome
from roles.acceptance.race import Beaten, Runner, beats, favourites, ranked, why_not
from roles.drafter.vary import Candidate

_FAILURE_LENGTH = 80


@dataclass(frozen=True)
class SearchOutcome:
    """arrival: what became of the best one; None where none could be measured, or in a dry run.

    beaten:    values that lost with all else equal
    in_service: a sentence, where there is no arrival
    """

    host: str
    candidates: tuple[Candidate, ...]
    runners: tuple[Runner, ...]
    beaten: tuple[Beaten, ...]
    confidence: float
    cost: str
    arrival: DeployOutcome | None = None
    in_service: str = ""
    dry_run: bool = False

    @property
    def best(self) -> Candidate | None:
        """The winner; None where none could be measured, or several cannot be told apart."""
        favourites = self._favourites()
        return favourites[0] if len(favourites) == 1 else None

    @property
    def level(self) -> tuple[Candidate, ...]:
        """Those that share the first place, where that is more than one."""
        favourites = self._favourites()
        return favourites if len(favourites) > 1 else ()

    @property
    def order(self) -> list[Runner]:
        """Best first."""
        return ranked(self.runners, self.confidence)

    @property
    def exit_code(self) -> ExitCode:
        """Done when the best one is in service now, inconclusive when there is no single best one."""
        if self.dry_run:
            return ExitCode.DONE
        if self.arrival is not None:
            return self.arrival.exit_code
        return ExitCode.INCONCLUSIVE if self.level else ExitCode.FAILED

    def as_json(self) -> dict[str, object]:
        """All of it."""
        best = self.best
        return {
            "cost": self.cost,
            "best": best and {"overlay": dict(best.overlay), "label": best.label},
            "level": [one.label for one in self.level],
            "ranking": [self._row(runner) for runner in self.order],
            "not_tried": [
                {"choice": dict(one.choice), "because": _because(reason)} for one, reason in self._untried() if reason
            ],
            "in_service": self.in_service or None,
            **({"arrival": self.arrival.as_json()} if self.arrival else {}),
        }

    def render(self) -> str:
        """A line a candidate, then what is in service and what to write into the inventory."""
        if self.dry_run:
            listing = "\n".join(f"  {one.label}" for one in self.candidates)
            return f"{self.host}: {self.cost}\n{listing}\nnothing was changed"
        lines = [f"search · {self.host} · {len(self.runners)} of {len(self.candidates)} candidates measured"]
        width = max((len(one.label) for one in self.candidates), default=0)
        lines += [
            f"  {row['label']!s:<{width}}  {_length(row):<18} {row['rounds']:>3} rounds  {row['says']}"
            for row in map(self._row, self.order)
        ]
        for one, reason in self._untried():
            lines.append(f"  {one.label:<{width}}  not tried: {_because(reason) if reason else 'the search had ended'}")
        if self.level:
            lines.append(f"  {len(self.level)} candidates cannot be told apart: none of them is kept")
        if self.arrival is not None:
            lines.append(str(self.arrival.render()))
        elif self.in_service:
            lines.append(f"  {self.in_service}")
        if self.level:
            lines.append("  Try:  more rounds on each (--rounds), or values that differ in what the engine does")
        if self.best is not None and self.exit_code == ExitCode.DONE:
            lines.append("  to keep it, write it into the inventory; the next deploy follows the inventory again:")
            lines.append(f"    drafter: {{config: {json.dumps(self.best.overlay)}}}")
        return "\n".join(lines)

    def _favourites(self) -> tuple[Candidate, ...]:
        first = [runner.choice for runner in favourites(self.runners, self.confidence)]
        return tuple(one for one in self.candidates if one.choice in first)

    def _row(self, runner: Runner) -> dict[str, object]:
        length = runner.length(self.confidence)
        return {
            "label": next(one.label for one in self.candidates if one.choice == runner.choice),
            "choice": dict(runner.choice),
            "rounds": sum(one.window.rounds for one in runner.windows),
            "acceptance_length": length and vars(length),
            "says": self._says(runner),
            "failure": runner.failure,
        }

    def _says(self, runner: Runner) -> str:
        first = self.order[0]
        if runner.failure is not None:
            whole = len(runner.failure) <= _FAILURE_LENGTH
            # The cause stands at its end.
            return f"failed: {runner.failure if whole else f'... {runner.failure[-_FAILURE_LENGTH:]}'}"
        if any(one.choice == runner.choice for one in self.level):
            return "cannot be told from the others at the top"
        if runner is first:
            settled = any(not one.failure and not beats(first, one, self.confidence) for one in self.order[1:])
            return f"best{', by what the check says against the others' if settled else ''}"
        return "beaten" if beats(first, runner, self.confidence) else "cannot be told from the best in so few rounds"

    def _untried(self) -> list[tuple[Candidate, Beaten | None]]:
        tried = [runner.choice for runner in self.runners]
        return [(one, why_not(one.choice, self.beaten)) for one in self.candidates if one.choice not in tried]


def _because(reason: Beaten) -> str:
    return f"{reason.field.rpartition('.')[2]} {reason.by} beat {reason.value} with all else equal"


def _length(row: dict[str, object]) -> str:
    length = row["acceptance_length"]
    if not isinstance(length, dict):
        return "-"
    return f"{length['estimate']:.2f} ({length['low']:.2f}-{length['high']:.2f})"


def cost(candidates: Sequence[Candidate], done: int, start_s: float | None, most_rounds: int) -> str:
    """What a search will take, before it starts: restarts times the time that a start takes."""
    left = len(candidates) - done
    restarts = left + 1
    if start_s is None:
        took = "how long a start takes here is not known yet"
    else:
        took = f"of about {start_s:.0f} s each, {_minutes(restarts * start_s)} in all"
    resumed = f"; {done} more are measured already" if done else ""
    return (
        f"{left} candidates and the best of them once more: at most {restarts} restarts, {took}; "
        f"at most {most_rounds} rounds on each{resumed}"
    )


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
