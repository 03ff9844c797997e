"""Lines as vLLM 0.16-0.30 writes them: every line of a process carries the process's name and pid."""

import os
import sys
import time
from typing import TextIO

_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_THRESHOLD = os.environ.get("VLLM_LOGGING_LEVEL", "INFO").upper()


class Process:
    """One of vLLM's processes. The stand-in is a single one: only the API server's pid is real, the others are made up."""

    def __init__(self, name: str, pid: int) -> None:
        self._prefix = f"({name} pid={pid}) "

    def info(self, place: str, message: str) -> None:
        """Log at INFO; `place` is the file:line that vLLM 0.20.1 prints for it."""
        self.log("INFO", place, message)

    def warning(self, place: str, message: str) -> None:
        """Log at WARNING."""
        self.log("WARNING", place, message)

    def error(self, place: str, message: str) -> None:
        """Log at ERROR; a traceback is part of the message."""
        self.log("ERROR", place, message)

    def log(self, level: str, place: str, message: str) -> None:
        """Log a message, each of its lines with the whole envelope; below VLLM_LOGGING_LEVEL nothing is written."""
        if _THRESHOLD in _LEVELS and _LEVELS.index(level) < _LEVELS.index(_THRESHOLD):
            return
        envelope = f"{self._prefix}{level} {time.strftime('%m-%d %H:%M:%S')} [{place}] "
        _write(sys.stdout, "".join(f"{envelope}{line}\n" for line in message.split("\n")))

    def raw(self, text: str) -> None:
        """Write lines that are not vLLM's (uvicorn, tracebacks): on stderr, with the process's prefix alone."""
        _write(sys.stderr, "".join(f"{self._prefix}{line}\n" for line in text.split("\n")))

    def access(self, text: str) -> None:
        """Write a line of uvicorn's access log: on stdout, with the process's prefix alone."""
        _write(sys.stdout, f"{self._prefix}{text}\n")

    def bar(self, text: str) -> None:
        """Write one state of a tqdm bar: a carriage return stands between prefix and text."""
        _write(sys.stderr, f"{self._prefix}\r{text}\n")


API = Process("APIServer", os.getpid())
CORE = Process("EngineCore", os.getpid() + 136)


def worker(tensor_parallel: int) -> Process:
    """Return the process that holds the model: a worker of its own with tensor parallelism, else the engine core."""
    return Process("Worker_TP0", os.getpid() + 409) if tensor_parallel > 1 else CORE


def _write(stream: TextIO, text: str) -> None:
    print(text, end="", file=stream, flush=True)  # one write: lines of one message stay together
