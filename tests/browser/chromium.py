"""A real browser for tests: Chromium without a window, driven through its own DevTools protocol."""

import asyncio
import base64
import contextlib
import itertools
import shutil
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

_NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in _NAMES if (path := shutil.which(name))), None)
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0")
_PATIENCE_S = 60


@dataclass(frozen=True)
class Look:
    """How a page is looked at. width and height: CSS pixels; media: "screen" or "print"."""

    width: int = 1280
    height: int = 900
    phone: bool = False
    dark: bool = False
    media: str = "screen"


@dataclass(frozen=True)
class Seen:
    """What came of it. found: the value of the expression that was asked; complaints: what the console and the
    network had to say; picture: a PNG of the whole page; pages: the PDF that printing gives."""

    found: Any
    complaints: tuple[str, ...]
    picture: bytes
    pages: bytes


def look_at(pages: Mapping[str, tuple[Path, Look]], expression: str, profile: Path) -> dict[str, Seen]:
    """Open files one after the other and ask each for the value of a JavaScript expression that JSON can carry."""
    return asyncio.run(_look_at(pages, expression, profile))


async def _look_at(pages: Mapping[str, tuple[Path, Look]], expression: str, profile: Path) -> dict[str, Seen]:
    async with asyncio.timeout(_PATIENCE_S), _tab(profile) as tab:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await tab.ask(f"{domain}.enable")
        return {name: await _see(tab, page, look, expression) for name, (page, look) in pages.items()}


async def _see(tab: "_Tab", page: Path, look: Look, expression: str) -> Seen:
    tab.events.clear()
    size = {"width": look.width, "height": look.height, "deviceScaleFactor": 2 if look.phone else 1}
    await tab.ask("Emulation.setDeviceMetricsOverride", **size, mobile=look.phone)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if look.dark else "light"}
    await tab.ask("Emulation.setEmulatedMedia", media=look.media, features=[scheme])
    await tab.ask("Page.navigate", url=page.as_uri())
    await tab.event("Page.loadEventFired")
    answer = await tab.ask("Runtime.evaluate", expression=expression, returnByValue=True)
    assert "exceptionDetails" not in answer, answer
    picture = await tab.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
    await tab.ask("Emulation.setEmulatedMedia", media="", features=[])  # printing has a medium of its own
    printed = await tab.ask("Page.printToPDF", printBackground=False)
    return Seen(
        answer["result"].get("value"),
        tuple(_complaints(tab.events)),
        base64.b64decode(picture["data"]),
        base64.b64decode(printed["data"]),
    )


def _complaints(events: list[dict[str, Any]]) -> list[str]:
    said = []
    for event in events:
        what = event["params"]
        if event["method"] == "Runtime.exceptionThrown":
            said.append(str(what["exceptionDetails"].get("exception", what["exceptionDetails"])))
        elif event["method"] == "Log.entryAdded":
            said.append(str(what["entry"]["text"]))
        elif event["method"] == "Runtime.consoleAPICalled":
            said.append(f"{what['type']}: {what['args']}")
        elif event["method"] == "Network.requestWillBeSent" and not what["request"]["url"].startswith(
            ("file:", "data:")
        ):
            said.append(f"it loads {what['request']['url']}")
    return said


class _Tab:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []

    async def ask(self, method: str, **values: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": values})
        while True:
            message = await self._next()
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                result: dict[str, Any] = message["result"]
                return result

    async def event(self, method: str) -> None:
        while not any(event["method"] == method for event in self.events):
            await self._next()

    async def _next(self) -> dict[str, Any]:
        message: dict[str, Any] = await self._socket.receive_json()
        if "method" in message:
            self.events.append(message)
        return message


@contextlib.asynccontextmanager
async def _tab(profile: Path) -> AsyncIterator[_Tab]:
    process = await asyncio.create_subprocess_exec(
        str(CHROMIUM), *_FLAGS, f"--user-data-dir={profile}", "about:blank", stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        while b"DevTools listening on" not in (line := await process.stderr.readline()):
            assert line, "Chromium ended before it listened"
        root = line.split()[-1].decode().replace("ws://", "http://").partition("/devtools")[0]
        drain = asyncio.create_task(process.stderr.read())
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{root}/json") as answer:
                tabs = await answer.json()
            address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield _Tab(socket)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        with contextlib.suppress(UnboundLocalError):
            await drain
