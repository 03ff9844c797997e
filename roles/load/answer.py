"""Puts an answer together from the blocks it arrives in: text, counts and arrival times; no bytes make it raise."""

from roles.load.completion import Completion, ErrorKind
from roles.load.event import Event, excerpt, read
from roles.load.frame import Frame, learn
from roles.load.sse import EventReader

_FREE_LESSONS = 4  # first events are often special (they carry the role)


class AnswerReader:
    """Takes the blocks of a body as they are received, each with its time, and makes a Completion of them.

    Every event of a block has the block's time: that is when it could first be seen here.
    """

    def __init__(self) -> None:
        self._events = EventReader()
        self._frame: Frame | None = None
        self._lessons = 0
        self._texts: dict[str, list[str]] = {"text": [], "reasoning": []}
        self._arrivals_s: list[float] = []
        self._last_s: float | None = None
        self._model: str | None = None
        self._finish_reason: str | None = None
        self._usage: tuple[int | None, int | None] = (None, None)
        self._drafts: tuple[int, ...] = ()
        self._done = False
        self._error: tuple[ErrorKind, str] | None = None

    def feed(self, block: bytes, at_s: float) -> None:
        """Take a block of a streamed body that arrived at_s seconds after the request was sent."""
        try:
            payloads = self._events.feed(block)
        except ValueError as error:
            self.fail("unreadable", str(error))
            return
        self._take_all(payloads, at_s)

    def finish(self, at_s: float) -> None:
        """The streamed body has ended."""
        self._take_all(self._events.finish(), at_s)
        if not self._done:
            self.fail("cut", "the stream ended without [DONE]")

    def whole(self, body: bytes, at_s: float) -> None:
        """Take a body that was not streamed: one block for the whole answer says nothing about when its tokens came."""
        event = self._parse(body.decode("utf-8", "replace"))
        if event is None:
            return
        self._apply(event, at_s)
        self._arrivals_s.clear()
        if not event.chosen:
            self.fail("unreadable", f"an answer without choices: {excerpt(body)}")

    def fail(self, kind: ErrorKind, detail: str) -> None:
        """Something went wrong; the first thing that did is kept."""
        if self._error is None:
            self._error = (kind, detail)

    def completion(self, *, ended_s: float, status: int | None, held_s: float = 0.0) -> Completion:
        """What has been read. ended_s is the latency of an answer in which nothing came; held_s is the Completion's."""
        kind, detail = self._error or (None, None)
        prompt_tokens, completion_tokens = self._usage
        return Completion(
            text=_joined(self._texts["text"]),
            reasoning=_joined(self._texts["reasoning"]),
            model=self._model,
            finish_reason=self._finish_reason,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            ttft_s=self._arrivals_s[0] if self._arrivals_s else None,
            arrivals_s=tuple(self._arrivals_s),
            latency_s=ended_s if self._last_s is None else self._last_s,
            error=kind,
            detail=detail,
            status=status,
            held_s=held_s,
            drafts=self._drafts,
        )

    def _take_all(self, payloads: list[str], at_s: float) -> None:
        for payload in payloads:
            if self._done or self._error is not None:
                return
            if self._frame is not None and (text := self._frame.text_in(payload)) is not None:
                self._texts[self._frame.what].append(text)
                self._arrivals_s.append(at_s)
                self._last_s = at_s
            elif payload == "[DONE]":
                self._done = True
            elif (event := self._parse(payload)) is not None:
                self._apply(event, at_s)
                self._learn(payload, event)

    def _parse(self, payload: str) -> Event | None:
        try:
            event = read(payload)
        except ValueError as error:
            self.fail("unreadable", str(error))
            return None
        if event.error is not None:
            self.fail("error", event.error)
            return None
        return event

    def _apply(self, event: Event, at_s: float) -> None:
        self._model = self._model or event.model
        self._finish_reason = event.finish_reason or self._finish_reason
        self._usage = event.usage or self._usage
        self._drafts = event.drafts or self._drafts
        if event.text:
            self._texts["text"].append(event.text)
        if event.reasoning:
            self._texts["reasoning"].append(event.reasoning)
        if event.generated:
            self._arrivals_s.append(at_s)
        if event.chosen:
            self._last_s = at_s

    def _learn(self, payload: str, event: Event) -> None:
        # Where each event differs in more than its text (log probabilities, say), learning is given up soon.
        if event.generated and self._lessons < _FREE_LESSONS + len(self._arrivals_s) // 16:
            self._lessons += 1
            self._frame = learn(payload, event) or self._frame


def _joined(parts: list[str]) -> str:
    # Escaped surrogates may come one by one: halves that meet are a character, a lone one cannot be printed.
    return "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
