"""What later releases are compared with: a passed release's windows, prompt by prompt, and their conditions."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property

from pydantic import TypeAdapter, ValidationError

from inventory.errors import SpecrailError
from roles.acceptance.statistics import Comparison
from roles.acceptance.window import PromptWindow, Window, pool
from roles.conditions import Conditions

SCHEMA = 1
"""Of gate.json. Goes up when a key changes its meaning; a new key does not change it."""


@dataclass(frozen=True)
class Baseline:
    """Measured windows of one release. `windows` are in the order of the prompts.

    again: an A/A run: some of the prompts once more on the same server, compared with their first time; None where
           there was none. `roles.acceptance.effect.noise_floor` says what it means
    probes: short answers before the windows; all that there is of a release that collapsed
    """

    release: str
    conditions: Conditions
    windows: tuple[PromptWindow, ...]
    again: Comparison | None = None
    probes: tuple[PromptWindow, ...] = ()

    @cached_property
    def pooled(self) -> Window:
        """All prompts together."""
        return pool(prompt.window for prompt in self.windows)

    def as_json(self) -> dict[str, object]:
        """What gate.json holds of it."""
        return {
            "schema": SCHEMA,
            "release": self.release,
            "conditions": asdict(self.conditions),
            "windows": [asdict(prompt) for prompt in self.windows],
            "again": None if self.again is None else asdict(self.again),
            "probes": [asdict(prompt) for prompt in self.probes],
        }


_STORED = TypeAdapter(Baseline)


def from_json(text: str | bytes) -> Baseline:
    """Read what `as_json` wrote; other keys (the verdict beside it) are passed over.

    Raises SpecrailError for text that is not such a thing, or of another schema: it says which, and what helps.
    """
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(f"the baseline is not JSON ({error})") from None
    if not isinstance(stored, Mapping) or "schema" not in stored:
        raise _unreadable("the baseline has no schema number: it is not a gate.json")
    schema = stored["schema"]
    if schema != SCHEMA:
        newer = isinstance(schema, int) and schema > SCHEMA
        raise _unreadable(f"the baseline has schema {schema!r}, this specrail reads {SCHEMA}", newer=newer)
    known = {name: stored.get(name) for name in ("release", "conditions", "windows", "again")}
    try:
        return _STORED.validate_python({**known, "probes": stored.get("probes") or ()})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise _unreadable(f"the baseline's {place} cannot be read: {first['msg']}") from None


def _unreadable(what: str, *, newer: bool = False) -> SpecrailError:
    mend = "git pull      (in this checkout of specrail: the baseline was written by a newer one)"
    measure = "invoke deploy --host NAME      (without a baseline the floor decides; a pass writes a new one)"
    return SpecrailError(
        what,
        where=("acceptance",),
        why=["Without it there is nothing to compare a release with but the policy's floor."],
        tries=[mend] if newer else [measure],
    )
