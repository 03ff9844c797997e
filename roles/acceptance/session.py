"""Prompts that are sent one at a time, with the counters read around each: the counts are exactly that prompt's."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from roles.acceptance.counters import Counters, delta, read
from roles.acceptance.window import PromptWindow

_SETTLE_S = (0.02, 0.05, 0.1, 0.2, 0.4)  # vLLM counts an answer's last round a moment after it has sent it


class Prompt(Protocol):
    """What the gate needs of a prompt: an id that stays the same from release to release."""

    @property
    def id(self) -> str:
        """For pairing with the baseline."""


class Completion(Protocol):
    """What the gate needs of an answer."""

    @property
    def text(self) -> str:
        """What is for the reader; may be empty while a model thinks."""

    @property
    def completion_tokens(self) -> int | None:
        """As the server counts them; None when it does not say."""

    @property
    def finish_reason(self) -> str | None:
        """ "stop", "length" ..."""


P = TypeVar("P", bound=Prompt)


class Session(Generic[P]):
    """One reading of the counters is the end of a prompt and the beginning of the next one.

    send, scrape: as `roles.acceptance.gate.run_gate` takes them
    answers:      in the order in which they came
    """

    def __init__(
        self,
        send: Callable[[P, int], Completion],
        scrape: Callable[[], str],
        clock: Callable[[], float],
        wait: Callable[[float], None],
    ) -> None:
        self._send = send
        self._scrape = scrape
        self._clock = clock
        self._wait = wait
        self._before = self._read()
        self.answers: list[Completion] = []

    def measure(self, prompt: P, max_tokens: int) -> PromptWindow:
        """Send one prompt, and count what it took."""
        answer = self._send(prompt, max_tokens)
        self.answers.append(answer)
        after = self._settled(answer.completion_tokens)
        window = delta(self._before, after)
        self._before = after
        return PromptWindow(prompt.id, window, answer.completion_tokens)

    def _settled(self, tokens: int | None) -> Counters:
        """The counters once they hold the whole answer, or after about a second."""
        after = self._read()
        for pause_s in _SETTLE_S:
            counted = delta(self._before, after).generated
            if tokens is None or counted is None or counted >= tokens:
                break
            self._wait(pause_s)
            after = self._read()
        return after

    def _read(self) -> Counters:
        return read(self._scrape(), read_at_s=self._clock())
