"""How the layers of an inventory become one: defaults, then groups, then the host."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from inventory.located import Located

OPAQUE = (("drafter", "config"), ("drafter", "options"))
"""What another program reads: a null in there is JSON's null and stays."""


def merge(base: Located, over: Located) -> Located:
    """`over` laid upon `base`; what `over` says wins, wherever it was said last.

    The layers of a host, each laid upon those before it:

    1. `defaults`
    2. the groups that list the host, in the order in which the file defines them
    3. the host's own entry under `hosts`

    * Mappings merge key by key, to any depth.
    * Everything else (text, numbers, true, false and *lists*) replaces what was there.
    * `null` removes what a layer below has set, and the built-in default is in force again. Only inside
      `drafter.config` and `drafter.options` null stays, as JSON's null.

    Laying a layer on twice changes nothing: merge(merge(a, b), b) is merge(a, b).
    """
    if not isinstance(base.value, Mapping) or not isinstance(over.value, Mapping):
        return over
    merged = dict(base.value)
    for key, value in over.value.items():
        merged[key] = merge(merged[key], value) if key in merged else value
    return Located(merged, over.origin)


def merge_all(layers: Sequence[Located]) -> Located:
    """The layers laid upon each other, the first lowest. There must be one."""
    result = layers[0]
    for layer in layers[1:]:
        result = merge(result, layer)
    return result


def without_nulls(tree: Located, path: tuple[str, ...] = ()) -> Located:
    """A merged host without what null removed."""
    if path in OPAQUE:
        return tree
    if isinstance(tree.value, tuple):
        return replace(tree, value=tuple(without_nulls(item, path) for item in tree.value))
    if isinstance(tree.value, Mapping):
        kept = {key: child for key, child in tree.value.items() if child.value is not None}
        return replace(tree, value={key: without_nulls(child, (*path, key)) for key, child in kept.items()})
    return tree
