"""What one request came to: the text, the counts, the clock, and what went wrong."""

from dataclasses import dataclass, field
from typing import Literal

ErrorKind = Literal["unreachable", "timeout", "http", "error", "cut", "unreadable", "deadline"]
"""Why a request failed.

unreachable: no connection (refused, no such name, TLS);  timeout: no whole answer in timeout_s;
http: a status that is not 200;                           error: the server sent an error object;
cut: the answer ended before its end ([DONE]);            unreadable: not HTTP, not events, not JSON as it should be;
deadline: the whole run's time was up
"""


@dataclass(frozen=True)
class Completion:
    """The answer to one request, as far as it came: a failed one keeps what had arrived.

    All times are seconds since the request was sent. arrivals_s has one entry for each event that carried text: with
    speculation that is a round, not a token. Token counts are the server's own (usage), None when it sent none.
    """

    text: str
    """What is for the reader; empty while a model is still thinking."""
    reasoning: str
    """What a reasoning parser kept apart."""
    model: str | None
    """The model that says it answered."""
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    ttft_s: float | None
    """To the first text, thinking included. None when nothing came or the answer was not streamed."""
    arrivals_s: tuple[float, ...] = field(repr=False)
    latency_s: float
    """To the last token; when nothing came, to the end of the request."""
    error: ErrorKind | None = None
    detail: str | None = None
    """What the server or the line said about the error; one line, secrets redacted."""
    status: int | None = None
    """HTTP status; None when none was received."""
    drafts: tuple[int, ...] = ()
    """How many rounds had 0, 1, 2 ... drafted tokens accepted, where the server says it with the answer (SGLang)."""
    held_s: float = 0.0
    """From when the client was given the request until it had written it: a connection, or the client's other work."""

    @property
    def ok(self) -> bool:
        """Whether the answer is whole."""
        return self.error is None

    @property
    def written(self) -> str:
        """All that was generated, thinking first."""
        return self.reasoning + self.text

    @property
    def tpot_s(self) -> float | None:
        """Time of a token after the first, (latency - TTFT) / (tokens - 1); None where that is not known."""
        if self.ttft_s is None or self.completion_tokens is None or self.completion_tokens < 2:
            return None
        return (self.latency_s - self.ttft_s) / (self.completion_tokens - 1)
