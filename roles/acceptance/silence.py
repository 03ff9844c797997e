"""Why a log has nothing to count: what its other lines give away."""

import re

_REASONS = (
    (
        re.compile(r"disabling stats logging to avoid incomplete stats"),
        "several API servers: vLLM logs no statistics with api-server-count > 1 (read /metrics instead)",
    ),
    (
        re.compile(r"--disable-log-stats|'disable_log_stats': True|disable_log_stats=True"),
        "statistics are off (--disable-log-stats): neither the log nor /metrics counts drafts",
    ),
    (re.compile(r"speculative_config=None"), "the engine runs without speculation (speculative_config=None)"),
)
_VLLM = re.compile(r"\b(?:INFO|WARNING|ERROR|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d \[|vllm", re.IGNORECASE)
_SGLANG = re.compile(r"\] (?:Prefill batch|Decode batch|server_args=)|sglang", re.IGNORECASE)
_LLAMACPP = re.compile(r"\bslot +\w+: id +\d|llama_\w+:|\bsrv +\w+:|\beval time =")


class Silence:
    """Takes the lines that are about nothing, and says in the end what they mean together."""

    def __init__(self) -> None:
        self._reasons: list[str] = []
        self._engine: str | None = None
        self._any = False
        self.stats_lines = 0

    def nothing(self, raw: bytes) -> None:
        """Look at a line without any word that is looked for: it may still say whose log it is."""
        if self._engine is None:
            self.line(raw[:2000].decode("utf-8", errors="replace"))

    def line(self, text: str) -> None:
        """Look at a line that was not counted."""
        self._any = self._any or bool(text.strip())
        if self._engine is None:
            kinds = (("vLLM", _VLLM), ("SGLang", _SGLANG), ("llama.cpp", _LLAMACPP))
            self._engine = next((name for name, pattern in kinds if pattern.search(text)), None)
        self._reasons += [why for pattern, why in _REASONS if why not in self._reasons and pattern.search(text)]

    def without_speculation(self, engine: str) -> None:
        """A line that only a server without speculation writes."""
        why = f"{engine} runs without speculation: its lines have no acceptance length"
        if why not in self._reasons:
            self._reasons.append(why)

    def why(self) -> str:
        """The likeliest reason for finding nothing."""
        if self._reasons:
            return "; ".join(self._reasons)
        if self.stats_lines:
            return f"{self.stats_lines} statistics lines and none about speculation: no drafts were made"
        if self._engine == "vLLM":
            return "no statistics lines: nothing was served yet, or VLLM_LOGGING_LEVEL is above INFO"
        if self._engine == "SGLang":
            return "no Decode lines: fewer than 40 decode steps were made (--decode-log-interval)"
        if self._engine == "llama.cpp":
            return "llama.cpp's log without a line about drafts: it runs without speculation, or served nothing yet"
        return "no line of an engine in it: is this the engine's log?" if self._any else "the log is empty"
