"""A judgement for a terminal: the number, its width, its meaning, the next command."""

from collections.abc import Iterator

from roles.acceptance.judgement import Judgement

_WIDTH = 60
_SHOWN_POSITIONS = 8
_SHOWN_REASONS = 3


def as_text(judgement: Judgement) -> str:
    """A few lines without colour and without a final newline."""
    return "\n".join(_lines(judgement))


def _lines(judgement: Judgement) -> Iterator[str]:
    summary, length = judgement.summary, judgement.verdict.length
    against = f" against {judgement.against}" if judgement.against else ""
    yield f"{f'acceptance · {judgement.label}{against}':<{_WIDTH}}  {judgement.outcome}"
    if summary.length is not None:
        width = f" ({length.low:.2f}-{length.high:.2f})" if length else ""
        before = judgement.before.length if judgement.before else None
        was = f", before {before:.2f}" if before is not None else ""
        k = f", k={summary.k}" if summary.k is not None else ""
        rounds = f"   {summary.rounds} rounds{k}" if summary.rounds is not None else ""
        yield f"  length {summary.length:.2f}{width} per round{was}{rounds}, {_windows(judgement)}"
    if summary.accepted is not None and summary.drafted:
        speed = f", {summary.accepted_per_s:.1f} accepted tokens/s" if summary.accepted_per_s is not None else ""
        rate = 100 * summary.accepted / summary.drafted
        yield f"  {summary.accepted} of {summary.drafted} drafted tokens accepted ({rate:.1f} %){speed}"
    if rates := summary.window.per_position_rates:
        more = " ..." if len(rates) > _SHOWN_POSITIONS else ""
        yield "  " + " ".join(f"{rate:.3f}" for rate in rates[:_SHOWN_POSITIONS]) + more
    yield from (f"  {reason}" for reason in judgement.reasons)
    for change in judgement.changes:
        where = f"{change.first.at or change.first.number} to {change.last.at or change.last.number}"
        yield f"  {change.kind}: {change.before:.2f} -> {change.after:.2f} ({100 * change.relative:+.0f} %), {where}"
    first = "worth a look" if judgement.outcome == "pass" else "most likely"
    for i, cause in enumerate(judgement.causes):
        yield f"  {'or' if i else first}: {cause.cause} ({cause.why})"
    yield from (f"  cannot tell: {line}" for line in judgement.cannot_tell)
    yield from (f"  known: {fact}" for fact in judgement.version_facts)
    for reason, count in judgement.reading.reasons.most_common(_SHOWN_REASONS):
        yield f"  thrown out: {count} {'line' if count == 1 else 'lines'}: {reason}"
    yield from (f"  note: {note}" for note in judgement.notes)
    if judgement.advice is not None:
        yield f"  k: {judgement.advice.text}"
    if judgement.next is not None:
        yield f"  next: {judgement.next}"


def _windows(judgement: Judgement) -> str:
    kept = judgement.reading.kept
    what = "prompt" if any(one.prompt is not None for one in judgement.summary.seen) else "window"
    return f"{kept} {what}{'' if kept == 1 else 's'}"
