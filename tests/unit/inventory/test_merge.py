"""The laws of merging."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from inventory.located import Located, Origin, locate
from inventory.merge import merge, merge_all, without_nulls
from tests.unit.inventory.conftest import PATIENT

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
KEYS = st.sampled_from(["a", "b", "c"])
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
TREES = st.dictionaries(KEYS, VALUES, max_size=3)


def tree(value: JsonValue, layer: str = "x") -> Located:
    return locate(value, Origin("f", 1, layer))


@PATIENT
@given(TREES, TREES)
def test_laying_a_layer_on_twice_changes_nothing(base: JsonValue, over: JsonValue) -> None:
    """Idempotent: (a + b) + b == a + b, places included."""
    once = merge(tree(base, "a"), tree(over, "b"))
    assert merge(once, tree(over, "b")) == once


@PATIENT
@given(VALUES, VALUES)
def test_what_the_upper_layer_says_is_what_holds(base: JsonValue, over: JsonValue) -> None:
    """Right-biased: every value that is not a mapping is found in the result, with the place of the upper layer."""
    merged = merge(tree(base, "a"), tree(over, "b"))
    for path, value in tree(over, "b").walk():
        found: Located | None = merged
        for part in path:
            assert found
            found = found.child(part)
        assert found
        assert found.origin.layer == "b"
        if not isinstance(value.value, dict):
            assert found == value


@PATIENT
@given(TREES, TREES)
def test_what_the_upper_layer_does_not_mention_stays(base: dict[str, JsonValue], over: dict[str, JsonValue]) -> None:
    merged = merge(tree(base, "a"), tree(over, "b"))
    for key in base.keys() - over.keys():
        assert merged.child(key) == tree(base[key], "a")
    assert merged.children.keys() == base.keys() | over.keys()


@PATIENT
@given(TREES)
def test_an_empty_layer_changes_no_value(value: JsonValue) -> None:
    assert merge(tree(value), tree({})) == tree(value) == merge(tree({}), tree(value))


@PATIENT
@given(TREES, TREES)
def test_null_removes_wherever_a_layer_says_it(base: JsonValue, over: JsonValue) -> None:
    """No null is left in a host, outside of what another program reads."""
    cleared = without_nulls(merge_all([tree(base), tree(over)]))
    for path, value in cleared.walk():
        assert value.value is not None or any(isinstance(part, int) for part in path)


def test_a_lower_mapping_does_not_come_back_from_under_a_null() -> None:
    layers = [tree({"a": {"x": 1}}), tree({"a": None}), tree({"a": {"y": 2}})]
    assert merge_all(layers).plain() == {"a": {"y": 2}}


def test_null_in_a_drafter_config_is_json() -> None:
    host: JsonValue = {"drafter": {"config": {"a": None}, "options": {"b": None}, "path": None}, "model": None}
    assert without_nulls(tree(host)).plain() == {"drafter": {"config": {"a": None}, "options": {"b": None}}}
