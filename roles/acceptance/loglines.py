"""Any engine's log, line by line: each line about speculation becomes a window, or is thrown out with a reason."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from roles.acceptance import llamacpp, request_metrics, vllm_spec, vllm_v0
from roles.acceptance.bench_text import Block, is_figure
from roles.acceptance.envelope import Line, unwrap
from roles.acceptance.findings import Findings
from roles.acceptance.fragment import Fragment
from roles.acceptance.needles import says_something
from roles.acceptance.reading import Reading
from roles.acceptance.series import Seen
from roles.acceptance.server_said import ServerSaid
from roles.acceptance.sglang import Ticks, is_without_speculation
from roles.acceptance.sglang import is_line as is_sglang
from roles.acceptance.silence import Silence
from roles.acceptance.speed import Speeds
from roles.acceptance.window import Window

if TYPE_CHECKING:
    from roles.acceptance.metrics_text import Readings


def read(lines: Iterable[bytes]) -> Reading:
    """Read a log (b"...".splitlines(), or an open binary file). Any bytes will do; nothing raises."""
    reader = LogReader()
    for number, raw in enumerate(lines, start=1):
        reader.line(number, raw)
    return reader.reading()


def _pace(before: Line, line: Line) -> float | None:
    """Seconds for each token that rounds emitted, from a statistics line and the spec line after it."""
    stats = vllm_spec.stats_of(before.text, before.at)
    if stats is None or not stats.generation_per_s or (None not in (before.at, line.at) and before.at != line.at):
        return None
    return 1 / stats.generation_per_s


class LogReader:
    """Takes the lines of one log, or of several files of one server in their order; keeps only what it needs."""

    def __init__(self) -> None:
        self._findings = Findings()
        self._silence = Silence()
        self._speeds = Speeds()
        self._engines: Counter[str] = Counter()
        self._stats: dict[str, vllm_spec.Stats] = {}
        self._server = ServerSaid()
        self._totals: dict[str, vllm_v0.Totals] = {}
        self._generated: int | None = None
        self._sglang = Ticks()
        self._block = Block()
        self._metrics: Readings | None = None

    def line(self, number: int, raw: bytes) -> None:
        """Take one line; number is for messages."""
        if not says_something(raw):
            self._silence.nothing(raw)
            return
        line = unwrap(raw)
        text = line.text
        if stats := vllm_spec.stats_of(text, line.at):
            self._silence.stats_lines += 1
            self._speeds.add(stats.running, stats.generation_per_s)
            self._stats[line.process] = stats
            self._server.origin(line.origin)
        elif vllm_v0.is_line(text):
            self._v0(number, line)
        elif vllm_spec.is_spec(text):
            self._spec(number, line)
        elif is_sglang(text):
            self._engines["SGLang"] += 1
            if why := self._sglang.line(number, text):
                self._findings.throw(number, text, why)
        elif llamacpp.is_line(text):
            self._llamacpp(number, raw.decode("utf-8", errors="replace") if "draft_n_accepted" in text else text)
        elif request_metrics.is_line(found := raw.decode("utf-8", errors="replace")):
            self._engines["vLLM"] += 1
            windows = request_metrics.windows_of(found)
            for window in [windows] if isinstance(windows, str) else windows:
                self._findings.keep(number, window, line)
        elif is_figure(text):
            if not self._block.fits(text):
                self._end_block()
            self._block.take(number, text)
        elif not self._counter(number, text):
            self._setup(text)

    @property
    def engine(self) -> str | None:
        """Whose log it is, as far as it was read."""
        return self._engines.most_common(1)[0][0] if self._engines else None

    @property
    def is_v0(self) -> bool:
        """Whether vLLM's V0 engine wrote lines of it."""
        return bool(self._totals)

    @property
    def unequal(self) -> bool:
        """Whether drafts may be shorter than k."""
        return self._server.unequal

    @property
    def found(self) -> int:
        """How much was counted so far: lines and figures."""
        return self._findings.figures + len(self._sglang) + bool(self._block) + bool(self._metrics)

    def batch(self, windows: Sequence[tuple[Window, int, bytes]], before: bytes, number: int) -> None:
        """Take spec lines that were added up: (window, how many, the last of them); the last one follows `before`."""
        stats = unwrap(before)
        busy = _pace(stats, Line(""))
        for i, (window, lines, last) in enumerate(windows, start=1):
            line = unwrap(last)
            for origin in (stats.origin if i == len(windows) else None, line.origin):
                self._server.origin(origin)
            self._engines["vLLM"] += lines
            timed = replace(window, span_s=busy * (window.accepted + window.rounds)) if busy else window
            self._findings.series.add(Seen(timed, number, line.at, None, self._server.version()), of=lines)

    def now(self, tail: bytes) -> None:
        """Take the last lines of a log whose spec lines were taken already: they say how fast it is."""
        lines = [unwrap(raw) for raw in tail.splitlines() if b"generation t" in raw or b"Per-position" in raw]
        for before, line in zip(lines[-2::-1], lines[::-1], strict=False):
            if vllm_spec.is_spec(line.text) and (busy := _pace(before, line)) is not None:
                self._findings.series.pace(busy)
                return

    def reading(self) -> Reading:
        """All that was found so far."""
        self._end_block()
        findings = self._findings
        notes = (*findings.notes(), *self._sglang.notes())
        for found in self._sglang.results():
            if isinstance(found, Fragment):
                findings.fragments.append(found)
            else:
                findings.series.add(Seen(found[2], found[0], found[1]), of=found[3])
        self._sglang = Ticks()
        if self._metrics is not None and self._metrics:
            self._engines["vLLM"] += 1
            findings.keep(self._metrics.number, self._metrics.result())
            self._metrics = None
        return Reading(
            seen=tuple(findings.series),
            kept=findings.series.kept,
            fragments=tuple(findings.fragments),
            thrown_out=tuple(findings.thrown_out),
            reasons=findings.reasons,
            why_nothing=None if findings.series.kept else findings.why_nothing() or self._silence.why(),
            engine=self.engine,
            versions=self._server.versions,
            method=self._server.method,
            layers=self._server.layers,
            speeds=self._speeds.means(),
            notes=notes,
        )

    def _spec(self, number: int, line: Line) -> None:
        self._engines["vLLM"] += 1
        self._server.origin(line.origin)
        stats = self._stats.pop(line.process, None)
        window = vllm_spec.window_of(line.text, line.at, stats, unequal=self._server.unequal)
        if isinstance(window, str):
            self._findings.throw(number, line.text, window)
            return
        if window.k is not None and window.drafted < window.k * window.rounds:
            self._server.unequal = True
        self._findings.again(line.at, window)
        version = self._server.version()
        self._findings.series.add(Seen(window, number, line.at, vllm_spec.since_last_s(line.text), version))

    def _v0(self, number: int, line: Line) -> None:
        self._engines["vLLM"] += 1
        totals = vllm_v0.totals_of(line.text)
        if totals is None:
            self._findings.throw(number, line.text, "the line is cut")
            return
        self._findings.keep(number, vllm_v0.window_between(self._totals.get(line.process), totals), line)
        self._totals[line.process] = totals

    def _llamacpp(self, number: int, text: str) -> None:
        self._engines["llama.cpp"] += 1
        found = llamacpp.request_of(text, number, self._generated)
        self._generated = None
        self._findings.keep(number, found, Line(text))

    def _counter(self, number: int, text: str) -> bool:
        """Take a line of /metrics; its reader is loaded when there is one."""
        if "vllm:" not in text and "process_start" not in text:
            return False
        if self._metrics is None:
            from roles.acceptance.metrics_text import Readings

            self._metrics = Readings()
        return self._metrics.take(number, text)

    def _end_block(self) -> None:
        if self._block:
            self._findings.keep(self._block.number, self._block.window())
        self._block = Block()

    def _setup(self, text: str) -> None:
        """Lines at a server's start say what it is."""
        self._silence.line(text)
        self._server.line(text)
        if "peculative" in text:
            self._sglang.setup(text)
        if (generated := llamacpp.predicted(text)) is not None:
            self._generated = generated
        if "Decode batch" in text and is_without_speculation(text):
            self._silence.without_speculation("SGLang")
