"""Runs of other engines or drafting methods: which of their numbers mean the same, and which only look like it."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from roles.load.compare import Comparison, Verdict, acceptance_length, acceptance_rate, drafted_a_round
from roles.load.figures import figures
from roles.load.history import Run
from roles.load.values import number, text

_WORSE: tuple[Verdict, ...] = ("yes", "with care", "no")
_ROUND = "of one stream: tokens a round by TPOT; a longer round may cost more than it brings"
_MANY = 4
_TOLD_APART = ("model", "quantization", "drafter", "temperature", "thinking", "prompts", "gpu")


@dataclass(frozen=True)
class Measure:
    """One number of each run as text ("-" where it is not known), whether it may be compared, and why or how."""

    name: str
    cells: tuple[str, ...]
    comparable: Verdict | None
    why: str

    def as_json(self) -> dict[str, object]:
        """The same facts for programs."""
        return asdict(self)


def engine_of(run: Run) -> str | None:
    """The engine's family, "vllm" or "sglang"."""
    return (text(run.conditions, "engine") or "").split(" ")[0] or None


def apart(runs: Sequence[Run]) -> bool:
    """Whether the runs are known to be of more than one engine or drafting method."""
    engines = {engine for run in runs if (engine := engine_of(run))}
    methods = {method for run in runs if (method := text(run.conditions, "method"))}
    return len(engines) > 1 or len(methods) > 1


def measures(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> tuple[Measure, ...]:
    """What of the runs compares across engines; comparisons are each later run's with the first.

    What the numbers mean follows vLLM 0.9-0.33 and SGLang 0.4.3-0.5.23: both count the bonus token in a round's
    length; SGLang's draft tokens hold the one before the draft, and its trees have no counterpart in vLLM; a stream's
    event carries a round, not a token. Shares are worked out from lengths: SGLang's own accept rate was length by draft
    tokens before 0.5.11.
    """
    work: Verdict = max((one.verdict for one in comparisons), key=_WORSE.index)
    reasons = "; ".join(dict.fromkeys(why for one in comparisons for why in (one.refusals or one.cares)))
    drafted = {drafted_a_round(run) for run in runs}
    same_k = len(drafted) == 1 and None not in drafted

    def say(name: str, said: Callable[[Run], str], comparable: Verdict | None = work, why: str = reasons) -> Measure:
        return Measure(name, tuple(said(run) for run in runs), comparable, why)

    def timed(name: str, *path: str, factor: float = 1) -> Callable[[Run], str]:
        return lambda run: figures(number(run.summary, name, *path), factor)

    length = "both count the bonus token"
    if not same_k:
        length += "; at another k it says how far each drafter gets, not which is faster"
    found = (
        say("engine", lambda run: text(run.conditions, "engine") or "-", None, ""),
        say("drafting", _drafting, None, ""),
        say("drafted a round", _drafted, None, _about_k(runs)),
        say(
            "tokens a round",
            lambda run: figures(acceptance_length(run)),
            work if work == "no" or same_k else "with care",
            reasons if work == "no" else length,
        ),
        say(
            "accepted of drafted",
            lambda run: figures(acceptance_rate(run), 100),
            work if same_k else "no",
            reasons if same_k else "a share of another number: the length compares, the share does not",
        ),
        say("ms a round", lambda run: figures(_round_s(run), 1e3), work, _ROUND if work != "no" else reasons),
        say("TPOT mean, ms", timed("tpot_s", "mean", factor=1e3)),
        say("one stream, tok/s", timed("stream_tok_s")),
        say("all streams, tok/s", timed("total_tok_s")),
        say(
            "TTFT p50, ms",
            timed("ttft_s", "p50", factor=1e3),
            "no" if work == "no" else "with care",
            reasons if work == "no" else "prefix caches, chunked prefill and the clients' own waits differ",
        ),
        say("ITL mean, ms", timed("itl_s", "mean", factor=1e3), "no", "an event is a round here and a token there"),
    )
    return tuple(measure for measure in found if any(cell != "-" for cell in measure.cells))


def notes(found: Sequence[Measure]) -> list[tuple[str, str]]:
    """The reasons, each once, with the measures that it is about."""
    said = []
    for why in dict.fromkeys(measure.why for measure in found if measure.why):
        concerned = [measure.name for measure in found if measure.why == why]
        said.append((", ".join(concerned) if len(concerned) < _MANY else "the others", why))
    return said


def untold(runs: Sequence[Run]) -> tuple[str, ...]:
    """What speed and acceptance depend on, and at least one of the runs does not say."""
    return tuple(name for name in _TOLD_APART if any(run.conditions.get(name) is None for run in runs))


def _drafting(run: Run) -> str:
    method = text(run.conditions, "method")
    branches = number(run.conditions, "topk")
    shape = "" if branches is None else " chain" if branches == 1 else f" tree of {branches:.0f} branches"
    adaptive = " adaptive" if run.conditions.get("adaptive") else ""
    return f"{method or '-'}{shape}{adaptive}"


def _drafted(run: Run) -> str:
    k, nodes = drafted_a_round(run), number(run.conditions, "draft_tokens")
    if k is None and nodes is not None:
        steps = number(run.conditions, "steps")
        return f"{nodes - 1:.0f} nodes" + (f", {steps:.0f} deep" if steps else "")
    return "-" if k is None else f"{k:.0f}"


def _about_k(runs: Sequence[Run]) -> str:
    said = []
    if any(number(run.conditions, "draft_tokens") for run in runs):
        said.append("SGLang's own number of draft tokens is one more: it holds the token before the draft")
    if any((number(run.conditions, "topk") or 1) > 1 for run in runs):
        said.append("a tree verifies branches of which one at most is accepted: vLLM has no such number")
    return "; ".join(said)


def _round_s(run: Run) -> float | None:
    """What a round takes; None where several streams share the GPU, for then it holds the others' work too."""
    length, tpot_s = acceptance_length(run), number(run.summary, "tpot_s", "mean")
    alone = number(run.conditions, "concurrency") == 1
    return length * tpot_s if length is not None and tpot_s is not None and alone else None
