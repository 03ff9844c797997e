"""What a run of the GPU tier found, for programs, for a terminal, and as a page."""

import html
from collections.abc import Iterator
from dataclasses import dataclass

from playbooks.tune_outcome import Confirmation
from roles.drafter.check import Report
from roles.load.history import Run
from roles.load.report import report
from tests.gpu.doctor import Doctor
from tests.gpu.sweep import Failed, Measured


@dataclass(frozen=True)
class Result:
    """All of it. foretold: by concurrency, prediction against measurement; skipped: why there is no sweep."""

    doctor: Doctor
    drafter: Report | None
    measured: tuple[Measured, ...]
    failed: tuple[Failed, ...]
    foretold: dict[int, list[Confirmation]]
    skipped: str | None

    @property
    def good(self) -> bool:
        """Whether what was tried worked."""
        return self.doctor.well and not self.failed

    def as_json(self) -> dict[str, object]:
        """For programs; `points` is what `invoke tune --from` reads."""
        return {
            "doctor": self.doctor.as_json(),
            "drafter": [finding.as_json() for finding in self.drafter.findings] if self.drafter else None,
            "points": [one.point.model_dump(mode="json") for one in self.measured],
            "runs": [_run_json(one) for one in self.measured],
            "failed": [vars(one) for one in self.failed],
            "foretold": {str(streams): [one.as_json() for one in told] for streams, told in self.foretold.items()},
            "skipped": self.skipped,
        }

    def lines(self) -> Iterator[str]:
        """For people, after what the doctor said."""
        for finding in self.drafter.findings if self.drafter else ():
            yield f"drafter {finding.severity}: {finding.field}: {finding.message}"
        for one in self.measured:
            length = f", acceptance length {one.acceptance_length:.2f}" if one.acceptance_length else ""
            tok_s = f"{one.point.tok_s:.0f}" if one.point.tok_s else "?"
            yield f"k={one.k} x{one.concurrency}: {tok_s} tok/s{length}, gate {one.gate or '-'}, start {one.start_s} s"
        for streams, told in self.foretold.items():
            yield from (f"x{streams} {one}" for one in told)
        for failure in self.failed:
            yield f"k={failure.k} failed: {failure.why}"
        if self.skipped:
            yield f"skipped: {self.skipped}"

    def page(self) -> str:
        """One HTML file: the report of the runs, with this machine and the predictions on top."""
        by_load = sorted(self.measured, key=lambda one: (one.concurrency, one.k))  # neighbours are compared
        runs: list[Run] = [one.run for one in by_load]
        text = report(runs, title="specrail on this machine") if runs else _EMPTY
        said = "\n".join(html.escape(line) for line in (*self.doctor.lines(), "", *self.lines()))
        return text.replace("</h1>", f"</h1>\n<pre>{said}</pre>", 1)


_EMPTY = "<!doctype html><meta charset=utf-8><title>specrail on this machine</title><h1>specrail on this machine</h1>"


def _run_json(one: Measured) -> dict[str, object]:
    return {
        "k": one.k,
        "concurrency": one.concurrency,
        "gate": one.gate,
        "start_s": one.start_s,
        "acceptance_length": one.acceptance_length,
        "per_position_rates": list(one.per_position_rates),
        "conditions": dict(one.run.conditions),
        "counts": dict(one.run.counts) if one.run.counts else None,
        "summary": {key: value for key, value in (one.run.summary or {}).items() if key != "requests"},
        "doubts": [dict(doubt) for doubt in one.run.doubts],
    }
