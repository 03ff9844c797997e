"""What a bench says to a person: the numbers of a run, and what changed against another one."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from roles.load.compare import Comparison, Row
from roles.load.doubt import Doubt
from roles.load.figures import figures
from roles.load.plot import Load, speed_over_latency
from roles.load.screen import change_words, columns, indented, line
from roles.load.slo import Goodput
from roles.load.summary import Spread, Summary

_SHOWN_POSITIONS = 16


def bench_table(
    summary: Summary,
    *,
    title: str,
    subtitle: str | None = None,
    acceptance_length: float | None = None,
    acceptance_rate: float | None = None,
    per_position_rates: Sequence[float] = (),
    rounds: int | None = None,
    k: int | None = None,
    engine: str = "",
    gpus: str = "",
    where: str = "",
    advice: Sequence[str] = (),
    doubts: Sequence[Doubt] = (),
) -> RenderableType:
    """One run. Columns without lines, so that a pipe gets the same text; colour repeats what words say.

    acceptance_length: tokens a round, bonus included; acceptance_rate and per_position_rates: 0-1
    engine, gpus:      what they did meanwhile, in words
    where:             load came from, and why that matters
    advice:            sentences that say what to try
    """
    parts: list[RenderableType] = [Text(title, style="bold")]
    if subtitle:
        parts.append(line(subtitle))
    if where:
        parts.append(line(f"load {where}"))
    parts += [line(_requests(summary)), Text(), _speeds(summary)]
    if any((summary.ttft_s, summary.tpot_s, summary.itl_s, summary.e2e_s)):
        parts += [Text(), _latencies(summary)]
    if summary.goodput is not None:
        parts += [Text(), _labelled(("goodput", _goodput(summary.goodput)))]
    if acceptance_length is not None:
        length = _acceptance(acceptance_length, acceptance_rate, rounds, k)
        parts += [Text(), _labelled(("acceptance length", length), ("per position", _rates(per_position_rates)))]
    if engine or gpus:
        parts += [Text(), _labelled(("engine", engine), ("GPUs", gpus))]
    if advice or doubts:
        parts.append(Text())
    parts += [line(text, "advice", "green") for text in advice]
    parts += [line(doubt.message, *(("doubt", "red") if doubt.spoils else ("note", "yellow"))) for doubt in doubts]
    return Group(*parts)


def sweep_table(
    rows: Sequence[tuple[float, Summary, float | None]], *, title: str, load: str = "streams"
) -> RenderableType:
    """One line a load, and speed over latency as a plot.

    rows: the load, what was measured, acceptance length; load: what the load counts
    """
    limited = any(summary.goodput for _, summary, _ in rows)
    names = ("all tok/s", "one tok/s", "TTFT p50 ms", "TPOT mean ms", "length", *(("goodput/s",) if limited else ()))
    table = columns(load, *names)
    for amount, summary, length in rows:
        numbers = (
            summary.total_tok_s,
            summary.stream_tok_s,
            1e3 * summary.ttft_s.p50 if summary.ttft_s else None,
            1e3 * summary.tpot_s.mean if summary.tpot_s else None,
            length,
            *((summary.goodput.req_s if summary.goodput else None,) if limited else ()),
        )
        table.add_row(f"{amount:g}", *(figures(number) for number in numbers))
    loads = [
        Load(
            amount,
            summary.total_tok_s,
            summary.tpot_s.mean if summary.tpot_s else None,
            "c" if load == "streams" else "r",
        )
        for amount, summary, _ in rows
        if summary.total_tok_s
    ]
    drawn = speed_over_latency({"": loads})
    plot = (Text(), indented(Text(drawn, no_wrap=True))) if drawn else ()
    return Group(Text(title, style="bold"), Text(), indented(table), *plot)


def changes_table(comparison: Comparison) -> RenderableType:
    """What changed against an earlier run, and whether that may be said."""
    before = comparison.before
    parts: list[RenderableType] = [
        Text(f"against {before.release}, {before.kind} of {before.at:%Y-%m-%d %H:%M %Z}", style="bold")
    ]
    parts += [line(refusal, "not comparable", "red") for refusal in comparison.refusals]
    parts += [line(care, "with care", "yellow") for care in comparison.cares]
    parts += [line(str(difference), "differs", "yellow") for difference in comparison.differences]
    table = columns("", "before", "now", "change")
    for row in comparison.rows:
        table.add_row(*_change(row))
    parts += [Text(), indented(table)]
    if comparison.positions:
        old, new = zip(*comparison.positions, strict=True)
        parts += [Text(), _labelled(("per position before", _rates(old)), ("             now", _rates(new)))]
    for reason in dict.fromkeys(row.why_not for row in comparison.rows):
        if reason is not None and reason not in comparison.refusals:
            concerned = ", ".join(row.metric for row in comparison.rows if row.why_not == reason)
            parts.append(line(f"{concerned}: {reason}", "note", "yellow"))
    return Group(*parts)


def _requests(summary: Summary) -> str:
    failed = ", ".join(f"{count} {kind}" for kind, count in sorted(summary.requests_failed.items()))
    total = summary.requests_ok + sum(summary.requests_failed.values()) + summary.requests_unsent
    tokens = "an unknown number of" if summary.output_tokens is None else f"{summary.output_tokens:,}"
    text = f"{summary.requests_ok} of {total} requests, {tokens} tokens in {summary.wall_s:.1f} s"
    return f"{text}, failed: {failed}" if failed else text


def _speeds(summary: Summary) -> RenderableType:
    table = columns("tok/s", "all streams", "one stream", "after the first token")
    speeds = (summary.total_tok_s, summary.stream_tok_s, summary.decode_tok_s)
    table.add_row("", *("-" if speed is None else f"{speed:.1f}" for speed in speeds))
    return indented(table)


def _latencies(summary: Summary) -> RenderableType:
    table = columns("", "mean", "p50", "p90", "p99")
    for name, spread, factor in (
        ("TTFT ms", summary.ttft_s, 1e3),
        ("TPOT ms", summary.tpot_s, 1e3),
        ("ITL ms", summary.itl_s, 1e3),
        ("E2E s", summary.e2e_s, 1),
        ("sent late ms", summary.late_s, 1e3),
    ):
        if spread is not None:
            table.add_row(name, *_spread(spread, factor))
    return indented(table)


def _spread(spread: Spread, factor: float) -> list[str]:
    return [figures(value, factor) for value in (spread.mean, spread.p50, spread.p90, spread.p99)]


def _goodput(found: Goodput) -> str:
    share = f" ({100 * found.share:.0f} %)" if found.share is not None else ""
    missed = ", ".join(f"{count} missed {name}" for name, count in found.missed.items() if count)
    text = f"{figures(found.req_s)} requests/s: {found.met} of {found.sent}{share} kept {found.slo}"
    return f"{text}; {missed}" if missed else text


def _acceptance(length: float, rate: float | None, rounds: int | None, k: int | None) -> str:
    known = [
        None if k is None else f"k={k}",
        None if rounds is None else f"{rounds:,} rounds",
        None if rate is None else f"{100 * rate:.1f} % of drafted tokens",
    ]
    in_brackets = ", ".join(text for text in known if text is not None)
    return f"{length:.2f} tokens a round" + (f" ({in_brackets})" if in_brackets else "")


def _change(row: Row) -> tuple[str | Text, ...]:
    ms = row.unit == "s"
    numbers = [figures(value, 1e3 if ms else 1) for value in (row.before, row.after)]
    return (f"{row.metric} {'ms' if ms else row.unit}".rstrip(), *numbers, change_words(row))


def _rates(rates: Sequence[float]) -> str:
    shown = " ".join(f"{rate:.2f}" for rate in rates[:_SHOWN_POSITIONS])
    return f"{shown} ..." if len(rates) > _SHOWN_POSITIONS else shown


def _labelled(*lines: tuple[str, str]) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for label, text in lines:
        if text:
            grid.add_row(Text(label, no_wrap=True), Text(text))
    return indented(grid)
