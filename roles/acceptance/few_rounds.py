"""As few rounds as it takes to see how good a drafter is: for choosing among many, not for keeping one in service."""

from collections.abc import Callable, Sequence

from roles.acceptance.collapse import look
from roles.acceptance.session import P, Session
from roles.acceptance.window import PromptWindow, Window, pool

MOST_ROUNDS = 58
"""A candidate that loses costs fewer than 60 rounds."""

_PROMPT_TOKENS = 24  # short, so that many prompts are heard, and long enough that an answer's cut end weighs little
_LEAST_TOKENS = 6
_UNCOUNTED_PROMPTS = 3  # a server that counts no rounds for so many never will


def measure_few(
    session: Session[P],
    prompts: Sequence[P],
    *,
    healthy: float | None,
    most_rounds: int = MOST_ROUNDS,
    on_progress: Callable[[Window], None] = lambda _: None,
) -> tuple[PromptWindow, ...]:
    """Send prompts, one after the other, until the rounds are used up or a collapse is plain. Never more rounds.

    healthy: acceptance per trial of a drafter that is not broken (`collapse.healthy_acceptance`); None: not known
    A round emits at least one token, so a limit on a prompt's tokens is a limit on its rounds.
    """
    windows: list[PromptWindow] = []
    for prompt in prompts:
        left = most_rounds - pool(one.window for one in windows).rounds
        if left < _LEAST_TOKENS:
            break
        windows.append(session.measure(prompt, min(_PROMPT_TOKENS, left)))
        counted = pool(one.window for one in windows)
        on_progress(counted)
        uncounted = not counted.rounds and len(windows) == _UNCOUNTED_PROMPTS
        if uncounted or look(counted, healthy).state == "collapsed":
            break
    return tuple(windows)
