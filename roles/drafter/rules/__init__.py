"""Everything that is checked about a drafter, one rule each."""

from roles.drafter.rules import (
    attention,
    batch_table,
    block,
    eagle,
    ids,
    launch,
    mask,
    mtp,
    published,
    shape,
    sizes,
    spelling,
    target,
    tokens,
    weights,
)
from roles.drafter.rules.rule import Rule

RULES: tuple[Rule, ...] = (
    *shape.RULES,
    *spelling.RULES,
    *published.RULES,
    *mask.RULES,
    *ids.RULES,
    *attention.RULES,
    *block.RULES,
    *tokens.RULES,
    *sizes.RULES,
    *target.RULES,
    *eagle.RULES,
    *mtp.RULES,
    *weights.RULES,
    *launch.RULES,
    *batch_table.RULES,
)

LAUNCH_RULES = frozenset(one.id for one in (*launch.RULES, *batch_table.RULES, *tokens.RULES, *mtp.RULES))
"""Rules that have something to say where there is no config, only what is passed to the engine."""
