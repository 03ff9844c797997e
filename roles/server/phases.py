"""What a starting engine is doing, read from its log."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_ANSI = re.compile(r"\x1b\[[0-9;]*m")

_COMPILING = r"for vLLM's torch\.compile|torch\.compile (?:took|takes)|Dynamo bytecode|Directly load (?:AOT|the) "

_PHASES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        # vLLM 0.8-0.33 print these in this order; the texts are those of the releases' sources.
        ("launch", r"^specrail: launch "),
        ("architecture", r"Resolved architecture"),
        ("engine", r"Initializing a V\d+ LLM engine|EngineCore init|Waiting for init message|Starting to load model"),
        ("weights", r"Loading weights|Loading safetensors|Loading \S*\s?checkpoint shards"),
        ("drafter", r"Loading drafter model"),
        ("weights loaded", r"Loading weights took|Model loading took"),
        ("compile", _COMPILING),
        ("memory", r"Available KV cache memory|KV cache size|# \w+ blocks: \d+, # CPU blocks: "),
        ("graphs", r"Capturing CUDA graph|Graph capturing|Capturing model for"),
        ("warm-up", r"init engine \(profile"),
        ("listen", r"Starting vLLM (?:API )?server"),
        ("ready", r"Application startup complete"),
    )
)

_LAUNCH = re.compile(r"^specrail: launch release=(\S+)")
_ENDED = re.compile(r"^specrail: ended status=(\S+)")
_OBSTACLE = re.compile(r"^specrail: (port \d+ is held by .+)$")


@dataclass(frozen=True)
class Startup:
    """How far a start has come.

    phase: the furthest phase that was seen, None before the first
    launches: how often launch.sh ran since the activation; the second time means that the first run died
    ended: exit statuses of runs that are over, as the supervisor wrote them
    ready: whether the engine says that it serves (which is not yet health)
    obstacle: what the host says is in the way of a start: then whoever answers may be somebody else
    """

    phase: str | None = None
    launches: int = 0
    ended: tuple[str, ...] = ()
    ready: bool = False
    obstacle: str | None = None

    @property
    def died(self) -> bool:
        """Whether a run of the server is over already."""
        return bool(self.ended) or self.launches > 1


def read(lines: Iterable[str], so_far: Startup = Startup()) -> Startup:
    """Take more lines of the log into account. Lines may carry colours and any prefix."""
    phase, launches, ended, ready = so_far.phase, so_far.launches, so_far.ended, so_far.ready
    obstacle = so_far.obstacle
    order = [name for name, _ in _PHASES]
    for raw in lines:
        line = _ANSI.sub("", raw)
        if _LAUNCH.match(line):
            launches += 1
            phase, ready = "launch", False
        elif match := _ENDED.match(line):
            ended = (*ended, match.group(1))
        elif match := _OBSTACLE.match(line):
            obstacle = match.group(1)
        else:
            for name, pattern in _PHASES:
                if pattern.search(line) and (phase is None or order.index(name) > order.index(phase)):
                    phase = name
            ready = ready or phase == "ready"
    return Startup(phase=phase, launches=launches, ended=ended, ready=ready, obstacle=obstacle)
