"""Runs as one HTML file that needs nothing else: charts, numbers and conditions side by side."""

import csv
import io
from collections.abc import Sequence

from roles.load.by_prompt import by_prompt
from roles.load.engines import notes
from roles.load.figures import figures
from roles.load.history import Run
from roles.load.report_charts import charts_of
from roles.load.screen import change_words
from roles.load.side_by_side import Number, side_by_side, word
from roles.load.values import row
from templates.render import render

_SHOWN = 20


def report(runs: Sequence[Run], *, title: str) -> str:
    """The file. Runs come in the order given, at most the last 20; each is compared as `side_by_side` says."""
    found = side_by_side(list(runs)[-_SHOWN:])
    comparable = bool(found.against) and not any(one.comparison.refusals for one in found.against)
    return render(
        "report/report.html.j2",
        title=title,
        runs=[{"name": name, "run": run} for name, run in zip(found.names, found.runs, strict=True)],
        against=found.against,
        numbers=[{"label": _label(number), "cells": _cells(number)} for number in found.numbers],
        beside=found.beside,
        kinds=found.kinds,
        engines=found.engines,
        notes=notes(found.engines),
        untold=found.untold,
        prompts=[
            (
                one.prompt,
                one.kind,
                [figures(speed) for speed in one.tok_s],
                f"{100 * one.change:+.1f} %" if one.change is not None and comparable else "",
            )
            for one in by_prompt(found.runs)
        ],
        conditions=[(one.name, [_cut(word(value)) for value in one.values], one.apart) for one in found.conditions],
        charts=charts_of(found),
        doubts=[(", ".join(map(str, said.places)), said.message, said.spoils) for said in found.doubts],
    )


def as_csv(runs: Sequence[Run]) -> str:
    """One line a request, of all runs."""
    out = io.StringIO()
    columns = ["release", "concurrency", "rate", "k", "prompt", "kind"]
    columns += ["started_s", "late_s", "ttft_s", "latency_s", "tokens"]
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for run in runs:
        shared = {"release": run.release, **{name: run.conditions.get(name) for name in ("concurrency", "rate", "k")}}
        for request in row(run.summary, "requests"):
            if isinstance(request, dict):
                writer.writerow({**shared, **request})
    return out.getvalue()


def _label(number: Number) -> str:
    unit = "ms" if number.unit == "s" else number.unit
    return f"{number.metric}, {unit}" if unit else number.metric


def _cells(number: Number) -> list[dict[str, str]]:
    """A value and the words of its change for each run."""
    factor = 1e3 if number.unit == "s" else 1
    return [
        {
            "value": figures(value, factor),
            "change": change_words(row).plain if row is not None and row.change is not None else "",
            "style": "" if row is None or row.better is None else "better" if row.better else "worse",
        }
        for value, row in zip(number.values, number.changes, strict=True)
    ]


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"
