"""What a search has measured so far, in a file of the controller, so that an interrupted one goes on where it was."""

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from inventory.errors import SpecrailError
from roles.acceptance.race import Runner
from roles.acceptance.window import PromptWindow


@dataclass(frozen=True)
class Measured:
    """A candidate that was tried; see `Runner`.

    release: its folder on the host
    start_s: None when the server did not come up
    """

    choice: Mapping[str, str]
    release: str | None
    windows: tuple[PromptWindow, ...] = ()
    failure: str | None = None
    start_s: float | None = None
    doubts: int = 0

    @property
    def runner(self) -> Runner:
        """The same for the race."""
        return Runner(self.choice, self.windows, self.failure, self.doubts)


@dataclass(frozen=True)
class _Kept:
    key: str
    measured: tuple[Measured, ...] = field(default=())


_KEPT = TypeAdapter(_Kept)


def key_of(content: object) -> str:
    """Names a search: what it tries, on which engine, model and config. Another one does not go on with its numbers."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


class SearchState:
    """The file of one host's search."""

    def __init__(self, folder: Path, host: str, key: str) -> None:
        self._file = folder / f"search-{host}.json"
        self._key = key

    def load(self) -> tuple[Measured, ...]:
        """What this very search has measured already; nothing when the file is another's, or cannot be read."""
        try:
            kept = _KEPT.validate_json(self._file.read_bytes())
        except (OSError, ValidationError):
            return ()
        return kept.measured if kept.key == self._key else ()

    def save(self, measured: Sequence[Measured]) -> None:
        """Keep it, whole or not at all. Raises SpecrailError when the folder cannot be written."""
        draft = self._file.with_suffix(".new")
        try:
            draft.write_text(json.dumps(asdict(_Kept(self._key, tuple(measured)))), encoding="utf-8")
            draft.replace(self._file)
        except OSError as error:
            raise SpecrailError(f"{self._file}: {error.strerror}", where=("search",)) from error

    def forget(self) -> None:
        """The search is over."""
        with contextlib.suppress(FileNotFoundError):
            self._file.unlink()
