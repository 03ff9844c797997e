"""What a log says about its server besides counts: version, method of speculation, layers that feed the drafter."""

import re

from roles.acceptance import vllm_releases

_METHOD = re.compile(
    r"speculative_?config['\"]?[:=] ?(?:SpeculativeConfig\(|\{)[^}]{0,2000}?['\"]?method['\"]?[:=] ?'([\w-]{1,40})'"
)
_LAYERS = re.compile(r"Using (?:Eagle3 )?auxiliary layers from [\w ]{1,40}: (\([\d, ]{1,200}\))")
_UNEQUAL_METHODS = frozenset({"ngram", "ngram_gpu", "suffix"})
_FINGERPRINTS = frozenset({"loggers.py", "metrics.py"})


class ServerSaid:
    """Learns from the lines of one log in their order.

    method:  of speculation, as the last start says
    layers:  as the engine prints them
    unequal: whether drafts may be shorter than k
    """

    def __init__(self) -> None:
        self.method: str | None = None
        self.layers: str | None = None
        self.unequal = False
        self._said: str | None = None
        self._origins: dict[str, int] = {}
        self._versions: dict[str, None] = {}

    @property
    def versions(self) -> tuple[str, ...]:
        """All that wrote the log, in the order in which they ran."""
        return tuple(self._versions)

    def line(self, text: str) -> None:
        """A line of a server's start."""
        if version := vllm_releases.said_version(text):
            self._said = version
            self._origins.clear()
            self._versions[version] = None
        if "peculative" in text and (method := _METHOD.search(text)):
            self.method = method[1]
            self.unequal = method[1] in _UNEQUAL_METHODS
        if "uxiliary layers" in text and (layers := _LAYERS.search(text)):
            self.layers = layers[1]

    def origin(self, origin: tuple[str, int] | None) -> None:
        """Where in vLLM's source a line was printed: another place is another release."""
        if origin is None or origin[0] not in _FINGERPRINTS:
            return
        file, line = origin
        if self._origins.get(file, line) != line:
            self._origins.clear()
            self._said = None
        self._origins[file] = line

    def version(self) -> str | None:
        """Of the engine that writes now; remembered."""
        span = (self._said, self._said) if self._said else vllm_releases.from_origins(self._origins)
        if span is None:
            return None
        version = vllm_releases.as_text(span)
        self._versions[version] = None
        return version
