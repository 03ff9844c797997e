"""Everything that is checked about a drafter, one rule each."""

from roles.drafter.rules import attention, block, ids, launch, mask, published, shape, sizes, weights
from roles.drafter.rules.rule import Rule

RULES: tuple[Rule, ...] = (
    *shape.RULES,
    *published.RULES,
    *mask.RULES,
    *ids.RULES,
    *attention.RULES,
    *block.RULES,
    *sizes.RULES,
    *weights.RULES,
    *launch.RULES,
)
