"""How completions look as JSON, whole and as events, field by field as vLLM 0.20 sends them."""

import json
import time
import uuid

from vllm.engine import Output


class Shape:
    """How one kind of completion looks as JSON.

    stream_error: place and message of the log line about a stream that broke
    """

    stream_error: tuple[str, str]

    def __init__(self, model: str, prefix: str, kind: str) -> None:
        self._base = {
            "id": f"{prefix}-{uuid.uuid4().hex[:16]}",
            "object": kind,
            "created": int(time.time()),
            "model": model,
        }

    def first(self) -> str:
        """Return the event before the first tokens, if there is one."""
        return ""

    def part(self, output: Output) -> str:
        """Return the event of one step."""
        raise NotImplementedError

    def whole(self, outputs: list[Output], usage: dict[str, int]) -> dict[str, object]:
        """Return the whole answer, without a stream."""
        raise NotImplementedError

    def usage(self, usage: dict[str, int]) -> str:
        """Return the last event, which has no choices."""
        return self._event([], usage=usage)

    def _event(self, choices: list[dict[str, object]], **more: object) -> str:
        event = {**self._base, "choices": choices, **more}
        return f"data: {json.dumps(event, separators=(',', ':'), ensure_ascii=False)}\n\n"


class Chat(Shape):
    """A chat completion."""

    stream_error = ("serving.py:1272", "Error in chat completion stream generator.")

    def __init__(self, model: str) -> None:
        super().__init__(model, "chatcmpl", "chat.completion.chunk")

    def first(self) -> str:
        delta = {"role": "assistant", "content": ""}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        return self._event([choice], prompt_token_ids=None)

    def part(self, output: Output) -> str:
        choice: dict[str, object] = {"index": 0, "delta": {"content": output.text}, "logprobs": None}
        choice["finish_reason"] = output.finish_reason
        if output.finish_reason:
            choice["stop_reason"] = None
        return self._event([{**choice, "token_ids": None}])

    def whole(self, outputs: list[Output], usage: dict[str, int]) -> dict[str, object]:
        message = {"role": "assistant", "content": "".join(output.text for output in outputs), "refusal": None}
        choice = {"index": 0, "message": {**message, "tool_calls": []}, "logprobs": None}
        choice |= {"finish_reason": outputs[-1].finish_reason, "stop_reason": None}
        return {**self._base, "object": "chat.completion", "choices": [choice], "usage": usage}


class Plain(Shape):
    """A completion of a text."""

    stream_error = ("serving.py:448", "Error in completion stream generator.")

    def __init__(self, model: str) -> None:
        super().__init__(model, "cmpl", "text_completion")

    def part(self, output: Output) -> str:
        choice = {"index": 0, "text": output.text, "logprobs": None, "finish_reason": output.finish_reason}
        return self._event([{**choice, "stop_reason": None, "prompt_token_ids": None, "token_ids": None}], usage=None)

    def whole(self, outputs: list[Output], usage: dict[str, int]) -> dict[str, object]:
        choice = {"index": 0, "text": "".join(output.text for output in outputs), "logprobs": None}
        choice |= {"finish_reason": outputs[-1].finish_reason, "stop_reason": None}
        return {**self._base, "choices": [choice], "usage": usage}
