"""All that the rules may look at when they judge one drafter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from inventory.models import Drafter, Server
from roles.drafter import known
from roles.drafter.engines import EngineTraits
from roles.drafter.header import Header
from roles.drafter.known import Family, KnownDrafter, Value
from roles.drafter.target import TargetView
from roles.drafter.view import View

Said = Literal["yes", "no", "unknown"]
"""Whether drafter.tokens was said, was left out of a launch that is known, or is not known at all."""


@dataclass(frozen=True)
class Evidence:
    """One drafter, its target, the engine and how it is served. None: not known, and no rule guesses.

    added_tokens: the target tokenizer's added tokens, id -> text
    server:       how it is served; None when only the files are judged
    tokens_said:  whether drafter.tokens means anything
    gpus:         names of the GPUs that it will run on
    """

    view: View
    drafter: Drafter
    engine: EngineTraits
    target: TargetView | None = None
    header: Header | None = None
    added_tokens: Mapping[int, str] | None = None
    server: Server | None = None
    tokens_said: Said = "yes"
    gpus: tuple[str, ...] | None = None

    @property
    def tokens(self) -> int | None:
        """Speculative tokens that are asked for."""
        return self.drafter.tokens if self.tokens_said == "yes" else None

    @property
    def revisions(self) -> tuple[KnownDrafter, ...]:
        """The published revisions that this drafter can be."""
        return known.drafters(self.drafter.repository, self.drafter.revision)

    @property
    def lookalikes(self) -> tuple[KnownDrafter, ...]:
        """Where nobody said which drafter this is: the published ones that it can be by its sizes."""
        if self.drafter.repository is not None or self.target is None:
            return ()
        return known.lookalikes(self.view, self.target.layers, self.target.hidden, self.target.vocab)

    @property
    def family(self) -> Family | None:
        """The target's family, by its vocabulary or else the drafter's own."""
        return known.family(self.vocab)

    @property
    def vocab(self) -> int | None:
        """Rows of the target's embedding."""
        return self.target.vocab if self.target and self.target.vocab else self.view.size("vocab_size")

    @property
    def target_layers(self) -> int | None:
        """Layers of the target: its own word first, then the drafter's config."""
        if self.target and self.target.layers:
            return self.target.layers
        return self.view.size("num_target_layers") or _nested_layers(self.view)

    @property
    def target_hidden(self) -> int | None:
        """Width of one captured layer."""
        return self.view.size("target_hidden_size") or (
            self.target.hidden if self.target and self.target.hidden else self.view.size("hidden_size")
        )

    def settled(self, name: str) -> Value | None:
        """The value that a published revision gives a field of the table, when all that it can be agree."""
        values = {revision.fields.get(name) for revision in self.revisions}
        return next(iter(values)) if len(values) == 1 else None

    def likely(self, name: str) -> Value | None:
        """The value that all published drafters which this can be give a field."""
        values = {one.fields[name] for one in self.lookalikes if name in one.fields}
        return next(iter(values)) if len(values) == 1 else None


def _nested_layers(view: View) -> int | None:
    value = view.nested.get("num_target_layers")
    return value if isinstance(value, int) and not isinstance(value, bool) else None
