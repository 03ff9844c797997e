"""The verdict as text: the number, its width, its meaning, the next command."""

from collections.abc import Sequence

from inventory.shell import command
from roles.acceptance.diagnosis import Diagnosis
from roles.acceptance.statistics import Interval
from roles.acceptance.verdict import Verdict
from roles.acceptance.window import Window

_SHOWN_POSITIONS = 6
_WIDTH = 60


def as_text(
    verdict: Verdict,
    diagnosis: Diagnosis,
    *,
    host: str,
    release: str,
    prompts: str | None = None,
    closing: str | None = None,
    known: Sequence[str] = (),
) -> str:
    """A few lines for a terminal, without colour and without a final newline.

    prompts: name and digest of the prompt set
    closing: what is in service now ("reverted to 2026-11-28T21-02-10Z-1c9e, which answers and accepts 3.04")
    known:   facts about the engine's version
    """
    head = f"acceptance · {host} · release {release}"
    lines = [f"{head:<{_WIDTH}}  {verdict.outcome}"]
    if verdict.length is not None:
        lines.append(f"  {_length(verdict, verdict.length)}   {_counts(verdict.window, prompts)}")
    if verdict.window.per_position_rates:
        rates = f"  {_rates(verdict.window)}"
        if verdict.baseline_window is not None and verdict.baseline_window.per_position_rates:
            rates = f"{rates:<36}  baseline {_rates(verdict.baseline_window)}"
        lines.append(rates)
    lines += [f"  {reason}" for reason in verdict.reasons]
    first = "worth a look" if verdict.outcome == "pass" else "most likely"
    for i, cause in enumerate(diagnosis.causes):
        lines.append(f"  {'or' if i else first}: {cause.cause} ({cause.why})")
    lines += [f"  cannot tell: {line}" for line in diagnosis.cannot_tell]
    lines += [f"  known: {fact}" for fact in known]
    lines += [f"  note: {note}" for note in verdict.notes]
    next_ = diagnosis.causes[0].next if diagnosis.causes else next_step(verdict, host)
    ends = [f"next: {next_}"] if next_ else []
    ends += [closing] if closing else []
    if ends:
        lines.append(f"  {'        '.join(ends)}")
    return "\n".join(lines)


def next_step(verdict: Verdict, host: str) -> str | None:
    """The next command where no cause gives one; None after a pass."""
    if verdict.outcome == "pass":
        return None
    if not verdict.window.rounds:
        return command("invoke", "logs", "--host", host)
    if verdict.outcome == "fail":
        return command("invoke", "drafter", "--host", host)
    return f"{command('invoke', 'deploy', '--host', host)}      (with a larger gate.prompts in the inventory)"


def _length(verdict: Verdict, length: Interval) -> str:
    text = f"length {_interval(length)} per round"
    if verdict.baseline_length is not None:
        text += f", baseline {_interval(verdict.baseline_length)}"
        same_k = verdict.baseline_window is None or verdict.baseline_window.k == verdict.window.k
        relative = verdict.change.relative if verdict.change else length.estimate / verdict.baseline_length.estimate - 1
        text += f"  {100 * relative:+.0f} %" if same_k else ""
    return text


def _interval(interval: Interval) -> str:
    return f"{interval.estimate:.2f} ({interval.low:.2f}-{interval.high:.2f})"


def _counts(window: Window, prompts: str | None) -> str:
    parts = [f"{window.rounds} rounds"]
    if window.k is not None:
        parts.append(f"k={window.k}")
    if prompts:
        parts.append(f"prompts {prompts}")
    return ", ".join(parts)


def _rates(window: Window) -> str:
    rates = window.per_position_rates
    shown = " ".join(f"{rate:.3f}" for rate in rates[:_SHOWN_POSITIONS])
    return f"{shown} ..." if len(rates) > _SHOWN_POSITIONS else shown
