"""Where a server is, which model is asked for, and the key that stays out of every message."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from inventory.errors import UsageError

_LEAST_TELLING_CHARACTERS = 4


@dataclass(frozen=True)
class Endpoint:
    """A server and a model. base_url is the server's root; a trailing /v1 is taken off.

    Raises UsageError for a URL or a key that cannot be used.
    """

    base_url: str
    model: str
    api_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if "@" in self.base_url:
            raise UsageError("a server's URL must not carry a login", tries=["the key as a secret: server.secrets"])
        if not _is_root(self.base_url):
            raise UsageError(f"{self.base_url!r} is no server's URL", tries=["http://127.0.0.1:8000"])
        key = self.api_key
        if key is not None and not (key.isascii() and key.isprintable() and key.strip()):
            raise UsageError(
                "the API key is empty or has characters that no HTTP header carries",
                why=["often it is the line end of the file that it comes from"],
            )
        object.__setattr__(self, "base_url", self.base_url.rstrip("/").removesuffix("/v1"))

    def redact(self, text: str) -> str:
        """The text without the key, even where an excerpt ends in the middle of it."""
        if not self.api_key:
            return text
        text = text.replace(self.api_key, "***")
        for length in range(len(self.api_key) - 1, _LEAST_TELLING_CHARACTERS - 1, -1):
            text = text.removesuffix(self.api_key[:length] + "…")
        return text


def _is_root(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        return parts.scheme in {"http", "https"} and bool(host) and parts.port != 0 and not parts.query
    except ValueError:
        return False
