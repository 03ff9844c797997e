"""Runs as one HTML file that needs nothing else: charts, numbers and conditions side by side."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from roles.load.charts import Series, bar_chart, distribution, line_chart
from roles.load.compare import Comparison, compare
from roles.load.history import Run
from templates.render import render

_SHOWN = 20
_NUMBERS: tuple[tuple[str, tuple[str, ...], float, str], ...] = (
    ("all streams", ("total_tok_s",), 1, "tok/s"),
    ("one stream", ("stream_tok_s",), 1, "tok/s"),
    ("after the first token", ("decode_tok_s",), 1, "tok/s"),
    ("TTFT p50", ("ttft_s", "p50"), 1e3, "ms"),
    ("TTFT p99", ("ttft_s", "p99"), 1e3, "ms"),
    ("TPOT mean", ("tpot_s", "mean"), 1e3, "ms"),
    ("TPOT p99", ("tpot_s", "p99"), 1e3, "ms"),
    ("end to end p50", ("e2e_s", "p50"), 1, "s"),
    ("preemptions", ("engine", "preemptions"), 1, ""),
    ("queued", ("engine", "queue_s"), 1e3, "ms"),
    ("prefix cache hits", ("engine", "prefix_hit_rate"), 100, "%"),
)


def report(runs: Sequence[Run], *, title: str) -> str:
    """The file. Runs come in the order given, at most 20; neighbours are compared where they may be."""
    shown = list(runs)[-_SHOWN:]
    names = _names(shown)
    return render(
        "report/report.html.j2",
        title=title,
        runs=[{"name": name, "run": run} for name, run in zip(names, shown, strict=True)],
        numbers=list(_rows(shown)),
        conditions=list(_conditions(shown)),
        charts=[chart for chart in _charts(shown, names) if chart],
        changes=[
            {"before": old, "after": new, "comparison": found, "rows": list(_changes(found))}
            for (old, before), (new, after) in pairwise(zip(names, shown, strict=True))
            for found in [compare(before, after)]
        ],
        doubts=[
            {"name": name, "message": str(doubt.get("message"))}
            for name, run in zip(names, shown, strict=True)
            for doubt in run.doubts
        ],
    )


def as_csv(runs: Sequence[Run]) -> str:
    """One line a request, of all runs."""
    out = io.StringIO()
    columns = ["release", "concurrency", "k", "prompt", "kind", "started_s", "ttft_s", "latency_s", "tokens"]
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for run in runs:
        requests = (run.summary or {}).get("requests")
        shared = {"release": run.release, **{name: run.conditions.get(name) for name in ("concurrency", "k")}}
        for request in requests if isinstance(requests, list) else []:
            writer.writerow({**shared, **request})
    return out.getvalue()


def _charts(runs: Sequence[Run], names: Sequence[str]) -> list[str]:
    speeds = [
        (name, value) for name, run in zip(names, runs, strict=True) if (value := _at(run.summary, ("total_tok_s",)))
    ]
    positions = [
        Series(name, list(enumerate(rates))) for name, run in zip(names, runs, strict=True) if (rates := _rates(run))
    ]
    by_load = sorted(
        (streams, value)
        for run in runs
        if (streams := _at(run.conditions, ("concurrency",))) and (value := _at(run.summary, ("total_tok_s",)))
    )
    spread = len({streams for streams, _ in by_load}) > 2
    return [
        bar_chart("Output of all streams", speeds, y="tok/s"),
        line_chart("Speed over concurrency", [Series("all streams", by_load)], x="streams", y="tok/s")
        if spread
        else "",
        line_chart("Accepted, by position", positions, x="position", y="share of rounds"),
        _spread_of(runs, names, "Time to first token", lambda request: _number(request.get("ttft_s")), 1e3, "ms"),
        _spread_of(runs, names, "Time of an output token", _tpot, 1e3, "ms"),
        _spread_of(runs, names, "End to end", lambda request: _number(request.get("latency_s")), 1, "s"),
    ]


def _spread_of(
    runs: Sequence[Run],
    names: Sequence[str],
    title: str,
    value_of: Callable[[Mapping[str, object]], float | None],
    factor: float,
    unit: str,
) -> str:
    series = []
    for name, run in zip(names, runs, strict=True):
        requests = (run.summary or {}).get("requests")
        known = [
            factor * value
            for request in (requests if isinstance(requests, list) else [])
            if isinstance(request, Mapping) and (value := value_of(request)) is not None
        ]
        if known:
            series.append(Series(name, distribution(known)))
    return line_chart(title, series, x=unit, y="share of requests")


def _tpot(request: Mapping[str, object]) -> float | None:
    ttft_s, latency_s, tokens = (_number(request.get(name)) for name in ("ttft_s", "latency_s", "tokens"))
    return (latency_s - ttft_s) / (tokens - 1) if ttft_s is not None and latency_s and tokens and tokens > 1 else None


def _rows(runs: Sequence[Run]) -> list[tuple[str, list[str]]]:
    rows = [
        (f"{name}, {unit}" if unit else name, [_said(_at(run.summary, path), factor) for run in runs])
        for name, path, factor, unit in _NUMBERS
    ]
    lengths = [_length(run) for run in runs]
    rows.append(("acceptance length, tokens/round", [_said(length, 1) for length in lengths]))
    return [row for row in rows if any(cell != "-" for cell in row[1])]


def _conditions(runs: Sequence[Run]) -> list[tuple[str, list[str], bool]]:
    """Name, each run's value, and whether they differ."""
    names = dict.fromkeys(name for run in runs for name in run.conditions)
    rows = [("release", [run.release for run in runs]), ("host", [run.host for run in runs])]
    rows += [(name, [_word(run.conditions.get(name)) for run in runs]) for name in names]
    return [(name, cells, len(set(cells)) > 1) for name, cells in rows]


def _changes(found: Comparison) -> list[tuple[str, str, str]]:
    """Metric, word, change with its bounds."""
    rows = []
    for row in found.rows:
        if row.change is None:
            continue
        word = "about the same" if row.same else "better" if row.better else "worse" if row.better is False else ""
        bounds = (
            f" ({100 * row.low:+.1f} to {100 * row.high:+.1f})" if row.low is not None and row.high is not None else ""
        )
        rows.append((row.metric, word, f"{100 * row.change:+.1f} %{bounds}"))
    return rows


def _names(runs: Sequence[Run]) -> list[str]:
    """Short and different: what differs between the runs, else their number."""
    names = []
    for number, run in enumerate(runs, start=1):
        k, streams = run.conditions.get("k"), run.conditions.get("concurrency")
        parts = [f"k={k}" if k else "off" if "k" in run.conditions else "", f"c={streams}" if streams else ""]
        names.append(" ".join([f"{number}:", *(part for part in parts if part)]))
    return names


def _rates(run: Run) -> list[float]:
    counts, rounds = (run.counts or {}).get("per_position"), _at(run.counts, ("rounds",))
    known = [_number(count) for count in counts] if isinstance(counts, list | tuple) else []
    return [count / rounds for count in known if count is not None] if rounds else []


def _length(run: Run) -> float | None:
    accepted, rounds = _at(run.counts, ("accepted",)), _at(run.counts, ("rounds",))
    return 1 + accepted / rounds if accepted is not None and rounds else None


def _at(values: object, path: tuple[str, ...]) -> float | None:
    for key in path:
        values = values.get(key) if isinstance(values, Mapping) else None
    return _number(values)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _said(value: float | None, factor: float) -> str:
    if value is None:
        return "-"
    value *= factor
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _word(value: object) -> str:
    return "unknown" if value is None else str(value)[:60]
