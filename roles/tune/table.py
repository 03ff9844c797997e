"""A tuning answer for people: the curve as bars, the plateau, what to try, and what to know."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from roles.tune.answer import Answer
from roles.tune.predict import Prediction

_BAR = 30


def tune_table(answer: Answer, title: str = "tune") -> RenderableType:
    """The answer. Columns without lines, so that a pipe gets the same text."""
    parts: list[RenderableType] = [Text.assemble((title, "bold"), f"   {_verdict(answer)}")]
    for prediction in answer.by_concurrency:
        streams = f"concurrency {prediction.concurrency}, " if prediction.concurrency else ""
        cost = f"{streams}a round takes {1e3 * prediction.a_s:.2f} ms + {1e3 * prediction.b_s:.3f} ms a token"
        parts += [Text(), Padding(Text(cost), (0, 0, 0, 2)), Padding(_curve(prediction), (0, 0, 0, 2))]
    if answer.notes:
        parts.append(Text())
    parts += [Padding(Text.assemble(("note: ", "yellow"), note), (0, 0, 0, 2)) for note in answer.notes]
    return Group(*parts)


def _verdict(answer: Answer) -> str:
    if answer.best == 0:
        return "best without speculation"
    plateau = ", ".join(str(k) for k in answer.plateau)
    return f"best: {answer.best} tokens" + (f" (as good: {plateau})" if len(answer.plateau) > 1 else "")


def _curve(prediction: Prediction) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("k", "tok/s", "90 %"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", no_wrap=True)
    highest = max(speed.tok_s for speed in prediction.speeds)
    for speed in prediction.speeds:
        k = speed.speculative_tokens
        mark = "best" if k == prediction.best else "as good" if k in prediction.plateau else ""
        words = ", ".join(word for word in (mark, "measured" if speed.measured else "") if word)
        table.add_row(
            str(k),
            f"{speed.tok_s:.1f}",
            f"{speed.low:.1f}-{speed.high:.1f}",
            Text("▇" * max(1, round(_BAR * speed.tok_s / highest)), "green" if mark else ""),
            words,
        )
    return table
