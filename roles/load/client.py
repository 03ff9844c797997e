"""Talks to an OpenAI-compatible server: one request at a time of its caller's, streamed and timed block by block."""

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import aiohttp

from inventory.errors import ServerError, SpecrailError, UnreachableError
from inventory.shell import command
from roles.load.answer import AnswerReader
from roles.load.completion import Completion, ErrorKind
from roles.load.endpoint import Endpoint
from roles.load.event import error_message, excerpt
from roles.load.prompts import Prompt
from roles.load.waiting import result_of

_CONNECT_TIMEOUT_S = 10.0
_READ_BUFFER_BYTES = 256 * 1024
_LAST_EVENT = b"data: [DONE]\n\n"  # what comes with it takes long to read: tokens of other streams go first
_KEEPALIVE_S = 3.0  # uvicorn closes an idle connection after 5 s, and a request sent just then is lost


def open_session(endpoint: Endpoint) -> aiohttp.ClientSession:
    """A session for any number of requests at once; to be entered with `async with`, inside a running loop."""
    headers = {"User-Agent": "specrail", "Accept-Encoding": "identity"}
    if endpoint.api_key:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    tracing = aiohttp.TraceConfig()
    tracing.on_request_chunk_sent.append(_note_when_sent)
    return aiohttp.ClientSession(
        trace_configs=[tracing],
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE_S),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_READ_BUFFER_BYTES,
    )


async def connect_ahead(session: aiohttp.ClientSession, endpoint: Endpoint, count: int) -> None:
    """Open `count` connections, so that no answer's first token waits for one. What fails here will fail later too."""

    async def once() -> None:
        with contextlib.suppress(aiohttp.ClientError, OSError):
            async with session.get(
                f"{endpoint.base_url}/health", timeout=_timeout(_CONNECT_TIMEOUT_S), allow_redirects=False
            ) as response:
                await response.read()

    await asyncio.gather(*(once() for _ in range(count)))


def request_body(
    endpoint: Endpoint, prompt: Prompt, *, max_tokens: int, temperature: float, seed: int | None, stream: bool
) -> dict[str, object]:
    """The request as OpenAI's API words it; a stream is asked to end with its token counts."""
    body: dict[str, object] = {
        "model": endpoint.model,
        "max_tokens": max_tokens,
        "temperature": temperature,
        "stream": stream,
    }
    if prompt.raw:
        body["prompt"] = prompt.messages[0].content
    else:
        body["messages"] = [{"role": message.role, "content": message.content} for message in prompt.messages]
    if seed is not None:
        body["seed"] = seed
    if stream:
        body["stream_options"] = {"include_usage": True}
    return body


async def complete(
    session: aiohttp.ClientSession,
    endpoint: Endpoint,
    prompt: Prompt,
    *,
    max_tokens: int,
    temperature: float = 0,
    seed: int | None = None,
    stream: bool = True,
    timeout_s: float = 300,
    extra_body: Mapping[str, object] | None = None,
) -> Completion:
    """Ask once and read to the end. What goes wrong is in the Completion, beside what had arrived by then.

    extra_body goes over the request: {"chat_template_kwargs": {"enable_thinking": false}}. Only cancellation raises.
    """
    body = request_body(endpoint, prompt, max_tokens=max_tokens, temperature=temperature, seed=seed, stream=stream)
    request = json.dumps(body | dict(extra_body or {})).encode()
    url = endpoint.base_url + ("/v1/completions" if prompt.raw else "/v1/chat/completions")

    reader = AnswerReader()
    status = None
    begun = time.perf_counter()
    sent = _Sent(begun)
    try:
        async with session.post(
            url,
            data=request,
            headers={"Content-Type": "application/json"},
            timeout=_timeout(timeout_s),
            allow_redirects=False,
            trace_request_ctx=sent,
        ) as response:
            status = response.status
            if status != 200:
                reader.fail("http", _refusal(await response.read()))
            elif not stream:
                reader.whole(await response.read(), time.perf_counter() - sent.at)
            elif response.content_type != "text/event-stream":
                body_instead = excerpt(await response.read())
                reader.fail("unreadable", f"{response.content_type} in place of a stream: {body_instead}")
            else:
                async for block in response.content.iter_any():
                    at_s = time.perf_counter() - sent.at
                    if block.endswith(_LAST_EVENT):
                        await asyncio.sleep(0)
                    reader.feed(block, at_s)
                reader.finish(time.perf_counter() - sent.at)
    except (aiohttp.ClientError, OSError) as error:
        reader.fail(*_failure(error, timeout_s))
    answer = reader.completion(ended_s=time.perf_counter() - sent.at, status=status, held_s=sent.at - begun)
    return replace(answer, detail=endpoint.redact(answer.detail)) if answer.detail else answer


def complete_sync(
    endpoint: Endpoint,
    prompt: Prompt,
    *,
    max_tokens: int,
    temperature: float = 0,
    seed: int | None = None,
    stream: bool = True,
    timeout_s: float = 300,
    extra_body: Mapping[str, object] | None = None,
) -> Completion:
    """One whole answer, from code that is not async. Raises UnreachableError or ServerError when there is none."""

    async def once() -> Completion:
        async with open_session(endpoint) as session:
            return await complete(
                session,
                endpoint,
                prompt,
                max_tokens=max_tokens,
                temperature=temperature,
                seed=seed,
                stream=stream,
                timeout_s=timeout_s,
                extra_body=extra_body,
            )

    answer = result_of(once)
    if answer.error is not None:
        raise _as_error(endpoint, answer, answer.error)
    return answer


def get(endpoint: Endpoint, path: str, *, timeout_s: float = 10) -> tuple[int, str]:
    """GET `path` ("/metrics"): the status, whichever it is, and the body as text. Raises UnreachableError."""

    async def once() -> tuple[int, str]:
        async with (
            open_session(endpoint) as session,
            session.get(endpoint.base_url + path, timeout=_timeout(timeout_s), allow_redirects=False) as response,
        ):
            return response.status, (await response.read()).decode("utf-8", "replace")

    try:
        return result_of(once)
    except (aiohttp.ClientError, OSError) as error:
        _, detail = _failure(error, timeout_s)
    # Not in the except block: the library's exception holds the request's headers, and a chained one would be shown.
    raise UnreachableError(
        f"no answer from {endpoint.base_url}{path}: {endpoint.redact(detail)}", tries=[_curl(endpoint, path)]
    )


class _Sent:
    """When a request was written: with many beside it, that may be a while after it was begun."""

    def __init__(self, at: float) -> None:
        self.at = at


async def _note_when_sent(
    _: aiohttp.ClientSession, context: SimpleNamespace, __: aiohttp.TraceRequestChunkSentParams
) -> None:
    if isinstance(context.trace_request_ctx, _Sent):
        context.trace_request_ctx.at = time.perf_counter()


def _timeout(timeout_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=timeout_s, sock_connect=min(timeout_s, _CONNECT_TIMEOUT_S))


def _failure(error: Exception, timeout_s: float) -> tuple[ErrorKind, str]:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return "unreachable", f"no connection within {min(timeout_s, _CONNECT_TIMEOUT_S):g} s"
        case TimeoutError():
            return "timeout", f"no whole answer within {timeout_s:g} s"
        case aiohttp.ClientConnectorCertificateError():
            return "unreachable", f"its certificate is not trusted: {excerpt(str(error.certificate_error))}"
        case aiohttp.ClientConnectorError():
            number = error.os_error.errno or 0  # names that are not found have negative ones, and text of their own
            return "unreachable", os.strerror(number) if number > 0 else excerpt(str(error.os_error.strerror))
        case aiohttp.InvalidURL():
            return "unreachable", "its URL cannot be used"
        case aiohttp.ClientResponseError():
            return "unreadable", f"not HTTP: {excerpt(error.message)}"
        case _:
            return "cut", excerpt(str(error) or type(error).__name__)


def _refusal(body: bytes) -> str:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return excerpt(body)
    return error_message(message) if isinstance(message, dict) else excerpt(body)


def _as_error(endpoint: Endpoint, answer: Completion, kind: ErrorKind) -> SpecrailError:
    if kind == "unreachable":
        return UnreachableError(
            f"no connection to {endpoint.base_url}: {answer.detail}", tries=[_curl(endpoint, "/health")]
        )
    if kind == "http":
        what = f"{endpoint.base_url} refuses to complete a prompt: {answer.status} {answer.detail}"
        why = ["the server wants an API key: it is among server.secrets"] if answer.status in {401, 403} else []
    else:
        what = f"{endpoint.base_url} did not complete a prompt ({kind}): {answer.detail}"
        why = [f"until then came: {excerpt(answer.written)}"] if answer.written else []
    return ServerError(what, why=why, tries=[_curl(endpoint, "/v1/models")])


def _curl(endpoint: Endpoint, path: str) -> str:
    return command("curl", "-sS", "-m", "5", endpoint.base_url + path)
