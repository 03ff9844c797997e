"""What the per-position rates say about the number of speculative tokens."""

from dataclasses import dataclass

from roles.acceptance.window import Window

_ENOUGH_ROUNDS = 200
_SELDOM = 0.05
_OFTEN = 0.3


@dataclass(frozen=True)
class Advice:
    """A number of speculative tokens to try, and the sentence that says why."""

    tokens: int
    text: str


def advise(window: Window) -> Advice | None:
    """A k to try after a run, from its pooled window; None when there is nothing to gain or too little was counted.

    A run at a large k knows every smaller one: positions that are seldom accepted cost verification and give nothing
    (position i pays where P_i / length exceeds the share of a round that one more position costs: 2-3 % on the field
    report's GPUs at one request, more when many run). A run at a small k knows nothing about later positions: it can
    only say that the last one is still good. A drafter that fails at position 0 is broken: no k mends that.
    """
    k, rates = window.k, window.per_position_rates
    if k is None or window.rounds < _ENOUGH_ROUNDS or len(rates) != k or rates[0] < _OFTEN:
        return None
    if window.drafted < k * window.rounds:
        return None  # drafts were cut short: late positions read low
    used = sum(rate >= _SELDOM for rate in rates)
    if used < k:
        positions = f"positions {used}-{k - 1} are" if used < k - 1 else f"position {used} is"
        text = f"{positions} accepted in under {100 * _SELDOM:g} % of rounds: try {_count(used)}"
        return Advice(used, text)
    if rates[-1] >= _OFTEN:
        share = f"{100 * rates[-1]:.0f} %"
        text = (
            f"position {k - 1}, the last, is still accepted in {share} of rounds: try {_count(2 * k)}, then read again"
        )
        return Advice(2 * k, text)
    return None


def _count(tokens: int) -> str:
    return f"{tokens} token{'' if tokens == 1 else 's'}"
