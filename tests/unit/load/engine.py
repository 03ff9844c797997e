"""A small real server that speaks the engine's API well and badly; a request's `scenario` says which."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

MODEL = "served-model"
WORDS = ("The", " quick", " brüne", " 狐", " jumps", "\n", '"over"', " it", " 🙂", ".")
METRICS = "vllm:generation_tokens_total 7.0\n"


class Engine:
    """Serves on a port of its own in a thread of its own until `close`."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.answers: dict[str, Callable[[], str]] = {}
        """What is got at other paths; /metrics may be replaced."""
        self.tells_drafts = True
        self.callers: dict[str, set[int]] = {"GET": set(), "POST": set()}
        self.abandoned = threading.Event()
        self.in_flight = 0
        self.most_in_flight = 0
        self._gathered: list[asyncio.Event] = []
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve(ready)))
        self._thread.start()
        ready.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self, ready: threading.Event) -> None:
        app = web.Application()
        app.router.add_post("/v1/{kind:completions|chat/completions}", self._complete)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/health", self._health)
        app.router.add_get("/hang", self._hang)
        app.router.add_get("/echo-key", self._echo_key)
        app.router.add_get("/{path:.*}", self._other)
        # Without handler_cancellation a handler would not learn that its client has gone.
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(text=self.answers.get("/metrics", lambda: METRICS)())

    async def _other(self, request: web.Request) -> web.Response:
        answer = self.answers.get(request.path)
        return web.Response(status=404) if answer is None else web.Response(text=answer())

    async def _health(self, request: web.Request) -> web.Response:
        self._note_caller(request)
        return web.Response()

    def _note_caller(self, request: web.Request) -> None:
        assert request.transport is not None
        self.callers[request.method].add(request.transport.get_extra_info("peername")[1])

    async def _hang(self, _: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError("an event that nobody sets")

    async def _echo_key(self, request: web.Request) -> web.Response:
        return web.Response(text=f"your key is {request.headers.get('Authorization')}", status=401)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.paths.append(request.path)
        self._note_caller(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if together := body.get("together"):
                await self._until_gathered(together)
            scenario: Callable[[web.Request, dict[str, object]], Awaitable[web.StreamResponse]] = getattr(
                self, "_" + str(body.get("scenario", "well")).replace("-", "_")
            )
            return await scenario(request, body)
        except (asyncio.CancelledError, ConnectionResetError):
            self.abandoned.set()
            raise
        finally:
            self.in_flight -= 1

    def gather(self) -> None:
        """Let go whoever waits for others, from another thread."""
        self._loop.call_soon_threadsafe(self._let_go)

    def _let_go(self) -> None:
        for waiting in self._gathered:
            waiting.set()
        self._gathered.clear()

    async def _until_gathered(self, count: int) -> None:
        """Hold requests back until `count` of them are here: with fewer at a time nothing would ever be answered."""
        event = asyncio.Event()
        self._gathered.append(event)
        if len(self._gathered) == count:
            self._let_go()
        await event.wait()

    async def _well(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        if not body["stream"]:
            choice = {"index": 0, "finish_reason": "stop", "message": {"content": "".join(WORDS)}}
            return web.json_response({"model": MODEL, "choices": [choice], "usage": _usage()})
        response = await _stream(request)
        *payloads, end = _payloads(chat="messages" in body)
        for payload in payloads:
            await _send(response, payload)
        if body.get("return_spec_tokens_details") and self.tells_drafts:
            details = {"spec_verify_ct": 6, "spec_correct_drafts_histogram": [1, 2, 0, 3]}
            await _send(response, json.dumps({"choices": [], "sglext": {"spec_tokens_details": details}}))
        await _send(response, end)
        return response

    async def _split(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        """Every byte on its own, so that characters and line ends come in pieces."""
        response = await _stream(request)
        content = "".join(f": ping\r\ndata: {payload}\r\n\r\n" for payload in _payloads(chat=True))
        for byte in content.encode():
            await response.write(bytes([byte]))
        return response

    async def _no_usage(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        response = await _stream(request)
        for payload in _payloads(chat=True):
            if '"usage"' not in payload:
                await _send(response, payload)
        return response

    async def _without_done(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        response = await _stream(request)
        for payload in _payloads(chat=True)[:5]:
            await _send(response, payload)
        return response

    async def _dropped(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        response = await _stream(request)
        for payload in _payloads(chat=True)[:5]:
            await _send(response, payload)
        assert request.transport is not None
        request.transport.close()
        return response

    async def _error_midway(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        response = await _stream(request)
        for payload in _payloads(chat=True)[:5]:
            await _send(response, payload)
        key = request.headers.get("Authorization")
        await _send(response, json.dumps({"error": {"message": f"EngineCore is dead {key}", "code": 500}}))
        await _send(response, "[DONE]")
        return response

    async def _garbage(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        response = await _stream(request)
        await _send(response, "{\x1b[31m not json")
        return response

    async def _refuse(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        error = {"error": {"message": f"The model `{body['model']}` does not exist.", "type": "NotFoundError"}}
        return web.json_response(error, status=404)

    async def _unauthorized(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        text = "x" * 270 + f"wrong key {request.headers.get('Authorization')}"
        return web.json_response({"error": text}, status=401)

    async def _whole_instead(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        return web.json_response({"model": MODEL, "choices": []})

    async def _stall(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        response = await _stream(request)
        for payload in _payloads(chat=True)[:3]:
            await _send(response, payload)
        await asyncio.Event().wait()
        return response

    async def _stall_but_quick(self, request: web.Request, body: dict[str, object]) -> web.StreamResponse:
        """Answers once all that fit are in flight, and only the prompt that says quick."""
        await self._until_gathered(3)
        return await (self._well if '"quick"' in json.dumps(body["messages"]) else self._stall)(request, body)


async def _stream(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    return response


async def _send(response: web.StreamResponse, payload: str) -> None:
    await response.write(f"data: {payload}\n\n".encode())


def _usage() -> dict[str, int]:
    return {"prompt_tokens": 12, "completion_tokens": len(WORDS), "total_tokens": 12 + len(WORDS)}


def _payloads(*, chat: bool) -> list[str]:
    """One answer: role, words, reason, usage, end."""

    def event(text: str | None, reason: str | None = None) -> str:
        part = {"delta": {} if text is None else {"content": text}} if chat else {"text": text or ""}
        choice = {"index": 0, **part, "logprobs": None, "finish_reason": reason}
        return json.dumps({"id": "x", "model": MODEL, "choices": [choice]}, ensure_ascii=False, separators=(",", ":"))

    return [
        event(""),
        *(event(word) for word in WORDS),
        event(None, "stop"),
        json.dumps({"id": "x", "model": MODEL, "choices": [], "usage": _usage()}),
        "[DONE]",
    ]
