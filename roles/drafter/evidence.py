"""All that the rules may look at when they judge one drafter."""

from collections.abc import Mapping
from dataclasses import dataclass

from inventory.models import Drafter, Server
from roles.drafter import known
from roles.drafter.engines import EngineTraits
from roles.drafter.header import Header
from roles.drafter.known import Family, KnownDrafter, Value
from roles.drafter.target import TargetView
from roles.drafter.view import View


@dataclass(frozen=True)
class Evidence:
    """One drafter, its target, the engine and how it is served. None: not known, and no rule guesses.

    added_tokens: the target tokenizer's added tokens, id -> text
    server:       how it is served; None when only the files are judged
    """

    view: View
    drafter: Drafter
    engine: EngineTraits
    target: TargetView | None = None
    header: Header | None = None
    added_tokens: Mapping[int, str] | None = None
    server: Server | None = None

    @property
    def revisions(self) -> tuple[KnownDrafter, ...]:
        """The published revisions that this drafter can be."""
        return known.drafters(self.drafter.repository, self.drafter.revision)

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


def _nested_layers(view: View) -> int | None:
    value = view.nested.get("num_target_layers")
    return value if isinstance(value, int) and not isinstance(value, bool) else None
