"""What stands around a log message: colours, JSON, containers' and journals' prefixes, the engine's own head."""

import json
import re
from dataclasses import dataclass

# Colour codes, whole or as copies leave them: ESC typed out, escaped, shown by cat -v or rsyslog, or lost ("[1;36m").
_ANSI = re.compile(r"(?:\x1b\[|(?:ESC|\\x1b|\\u001b|\\033|\\e|\^\[|#033|\ufffd)\[|\[(?=\d))[0-9;]{0,12}m")
_MESSAGE_KEYS = ("message", "log", "msg", "MESSAGE", "event", "text")
_PID = re.compile(r"\(([A-Za-z_][\w. =-]{0,60}?) pid=(\d{1,9})\)")
_COMPOSE = re.compile(r"^([\w.-]{1,60}) +\| ")
# vLLM 0.5-0.33: `INFO 05-09 12:25:53 [metrics.py:101]`, up to 0.7 without the opening bracket, 0.33 also with a year.
_HEAD = re.compile(
    r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<at>(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d{1,6})? "
    r"\[?(?P<file>[\w./-]{1,80}):(?P<line>\d{1,6})\]"
)


@dataclass(frozen=True)
class Line:
    """One line without its wrapping.

    text:    what the program wrote, colours taken out
    process: which process wrote it ("APIServer 7", a container's name); "" when nothing says so
    at:      time on the engine's own clock, as printed ("05-09 12:25:53"); the wrapper's clock may be in another zone
    origin:  source file without folders and line number of the log call ("metrics.py", 101)
    """

    text: str
    process: str = ""
    at: str | None = None
    origin: tuple[str, int] | None = None


def unwrap(raw: bytes) -> Line:
    """Take a line out of its wrapping. Any bytes will do; what is not understood stays in `text`."""
    text = raw.decode("utf-8", errors="replace").rstrip("\r\n")
    process = at = None
    if (start := text.find("{")) >= 0 and '"' in text:
        text, process, at = _from_json(text, start)
    text = _ANSI.sub("", text)
    if head := _HEAD.search(text):
        at = head["at"]
    if pid := _PID.search(text):
        process = f"{pid[1]} {pid[2]}"
    elif process is None and (compose := _COMPOSE.match(text)):
        process = compose[1]
    origin = (head["file"].rsplit("/", 1)[-1], int(head["line"])) if head else None
    return Line(text, process or "", at, origin)


def _from_json(text: str, start: int) -> tuple[str, str | None, str | None]:
    """Message, process and time of a JSON log line; the text as it is when it is not one."""
    try:
        record = json.loads(text[start:])
    except (ValueError, RecursionError):
        return text, None, None
    if not isinstance(record, dict):
        return text, None, None
    message = next((record[key] for key in _MESSAGE_KEYS if isinstance(record.get(key), str | list)), None)
    if isinstance(message, list):  # journalctl -o json writes a message that is not plain text as numbers
        if not all(isinstance(byte, int) and 0 <= byte <= 255 for byte in message):
            return text, None, None
        message = bytes(message).decode("utf-8", errors="replace")
    if message is None:
        return text, None, None
    name, pid, at = record.get("processName"), record.get("process"), record.get("asctime")
    process = f"{name} {pid}" if name is not None else None
    return message.rstrip("\r\n"), process, at if isinstance(at, str) else None
