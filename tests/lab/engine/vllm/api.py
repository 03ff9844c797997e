"""The routes: health, version, models, metrics, and completions as OpenAI clients and vLLM's own streams know them."""

import json
import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from vllm import metrics, text
from vllm.engine import Engine, EngineDeadError, Output
from vllm.engine import Request as Completion
from vllm.features import VERSION
from vllm.log import API
from vllm.shapes import Chat, Plain, Shape
from vllm.web import Answer, Request

_DONE = "data: [DONE]\n\n"
_METHODS = {
    "/health": "GET",
    "/ping": "GET",
    "/version": "GET",
    "/metrics": "GET",
    "/v1/models": "GET",
    "/v1/completions": "POST",
    "/v1/chat/completions": "POST",
}
ROUTES = tuple(_METHODS.items())
"""Path and method of each route, for the log."""


class Refused(Exception):
    """A request that cannot be served; the answer is `error` with `status`."""

    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = {"error": {"message": message, "type": kind, "param": param, "code": status}}


@dataclass(frozen=True)
class Settings:
    """What the server was started with. api_keys empty: everybody may ask."""

    model_names: Sequence[str]
    model_root: str
    max_model_len: int
    api_keys: Sequence[str]
    count: bool
    started_at: float


class Api:
    """Answers requests with one engine."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings
        self._sampled = 0

    async def __call__(self, request: Request, answer: Answer) -> None:
        """Answer one request."""
        path = request.path
        if path.startswith("/v1") and not self._may_ask(request):
            await answer.json({"error": "Unauthorized"}, 401)
        elif path not in _METHODS:
            await answer.json({"detail": "Not Found"}, 404)
        elif request.method != _METHODS[path]:
            await answer.json({"detail": "Method Not Allowed"}, 405)
        elif path in ("/health", "/ping"):
            await answer.text("", 503 if self._engine.dead else 200)
        elif path == "/version":
            await answer.json({"version": VERSION, "lab_clock": self._engine.clock.rate})
        elif path == "/metrics":
            await answer.text(self._metrics())
        elif path == "/v1/models":
            await answer.json({"object": "list", "data": list(self._models())})
        else:
            await self._complete(request, answer, chat=path == "/v1/chat/completions")

    def _may_ask(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        given = sha256(token.encode()).digest()
        keys = [sha256(key.encode()).digest() for key in self._settings.api_keys]
        known = [secrets.compare_digest(given, key) for key in keys]
        return not keys or (scheme.lower() == "bearer" and any(known))

    def _metrics(self) -> str:
        engine, settings = self._engine, self._settings
        counts = engine.counts if settings.count else None
        return metrics.render(counts, engine.load, settings.model_names[0], settings.started_at)

    def _models(self) -> Iterator[dict[str, object]]:
        for name in self._settings.model_names:
            yield {
                "id": name,
                "object": "model",
                "created": int(self._settings.started_at),
                "owned_by": "vllm",
                "root": self._settings.model_root,
                "parent": None,
                "max_model_len": self._settings.max_model_len,
                "permission": [],
            }

    async def _complete(self, request: Request, answer: Answer, *, chat: bool) -> None:
        completion = None
        try:
            asked = self._read(request)
            shape = Chat(asked["model"]) if chat else Plain(asked["model"])
            completion = self._submit(asked, *(_chat_prompt(asked) if chat else _plain_prompt(asked)), chat=chat)
            if asked.get("stream"):
                usage = bool((asked.get("stream_options") or {}).get("include_usage"))
                await self._stream(completion, answer, shape, usage=usage)
            else:
                outputs = [output async for output in _outputs(completion, answer)]
                await answer.json(shape.whole(outputs, _usage(completion)))
        except Refused as refusal:
            await answer.json(refusal.error, refusal.status)
        except EngineDeadError as error:
            await answer.json(Refused(500, "InternalServerError", str(error)).error, 500)
        finally:
            if completion is not None:
                completion.abandoned = True  # the engine drops it, if it has not finished it

    def _read(self, request: Request) -> dict[str, Any]:
        try:
            asked = json.loads(request.body)
        except ValueError:
            raise Refused(400, "BadRequestError", "There was an error parsing the body") from None
        if not isinstance(asked, dict):
            raise Refused(400, "BadRequestError", "Input should be a valid dictionary")
        asked.setdefault("model", self._settings.model_names[0])
        if asked["model"] not in self._settings.model_names:
            message = f"The model `{asked['model']}` does not exist."
            raise Refused(404, "NotFoundError", message, "model")
        return asked

    def _submit(self, asked: dict[str, Any], prompt: str, prompt_tokens: int, *, chat: bool) -> Completion:
        room = self._settings.max_model_len - prompt_tokens
        if room <= 0:
            raise Refused(
                400,
                "BadRequestError",
                f"Input length ({prompt_tokens}) exceeds model's maximum context length "
                f"({self._settings.max_model_len}).",
            )
        wanted = (asked.get("max_completion_tokens") if chat else None) or asked.get("max_tokens")
        wanted = (room if chat else 16) if wanted is None else wanted
        if not isinstance(wanted, int) or wanted < 1:
            raise Refused(400, "BadRequestError", f"max_tokens must be at least 1, got {wanted}.", "max_tokens")
        temperature = asked.get("temperature")
        temperature = 1.0 if temperature is None else temperature
        if not isinstance(temperature, (int, float)) or not 0 <= temperature <= 2:
            message = f"temperature must be in [0, 2], got {temperature}."
            raise Refused(400, "BadRequestError", message, "temperature")
        prompt = prompt.encode(errors="replace").decode()  # lone surrogates pass JSON, but no UTF-8
        variation = ""
        if temperature:
            self._sampled += 1
            variation = str(asked.get("seed") or f"request {self._sampled}")
        return self._engine.submit(
            prompt,
            text.answer(prompt, variation),
            prompt_tokens=prompt_tokens,
            max_tokens=min(wanted, room),
            ignore_eos=bool(asked.get("ignore_eos")),
            temperature=temperature,
            variation=variation,
        )

    async def _stream(self, completion: Completion, answer: Answer, shape: Shape, *, usage: bool) -> None:
        await answer.begin_stream()
        try:
            head = shape.first()
            async for output in _outputs(completion, answer):
                await answer.send(head + shape.part(output))
                head = ""
            last = shape.usage(_usage(completion)) if usage else ""
        except EngineDeadError as error:
            # The status was sent long ago: the error is an event.
            API.error(*shape.stream_error)
            last = f"data: {json.dumps(Refused(500, 'InternalServerError', str(error)).error)}\n\n"
        await answer.send(last + _DONE)
        await answer.end_stream()


async def _outputs(completion: Completion, answer: Answer) -> AsyncIterator[Output]:
    """Yield what each step gave. Raises ConnectionError when the client has hung up, and EngineDeadError."""
    reason = None
    while reason is None:
        output = await completion.next_output()
        if answer.client_left:
            raise ConnectionError
        reason = output.finish_reason
        yield output


def _plain_prompt(asked: dict[str, Any]) -> tuple[str, int]:
    """Prompt and its number of tokens, from a text, a list with one, or a list of token ids."""
    prompt = asked.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], (str, list)):
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt:
        return prompt, text.count(prompt)
    if isinstance(prompt, list) and prompt and all(isinstance(token, int) for token in prompt):
        return " ".join(map(str, prompt)), len(prompt)
    raise Refused(400, "BadRequestError", "prompt must be one text, or one list of token ids", "prompt")


def _chat_prompt(asked: dict[str, Any]) -> tuple[str, int]:
    """Contents of all messages, and how many tokens they have in the chat template."""
    try:
        messages = asked["messages"]
        contents = [_content(message) for message in messages]
        roles = [message["role"] for message in messages]
    except (TypeError, KeyError):
        raise Refused(400, "BadRequestError", "messages must be a list of role and content", "messages") from None
    if not roles:
        raise Refused(400, "BadRequestError", "messages must not be empty", "messages")
    prompt = "\n".join(contents)
    return prompt, text.count(prompt) + 5 * len(roles) + 3


def _content(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content)
    return content or ""


def _usage(completion: Completion) -> dict[str, int]:
    prompt, produced = completion.prompt_tokens, completion.produced
    return {"prompt_tokens": prompt, "total_tokens": prompt + produced, "completion_tokens": produced}
