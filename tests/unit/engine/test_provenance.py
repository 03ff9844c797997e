"""Provenance survives its file, and a foreign or broken file is read without guessing."""

import json

from hypothesis import given
from hypothesis import strategies as st

from roles.engine.provenance import Provenance, read

texts = st.none() | st.text(min_size=1)
provenances = st.builds(
    Provenance,
    kind=st.text(min_size=1),
    source=st.text(min_size=1),
    **dict.fromkeys(
        ("repository", "ref", "commit", "merge_base", "version", "python", "build", "arch", "distribution"), texts
    ),
    duration_s=st.none() | st.floats(0, 1e8),
)


@given(provenances)
def test_what_was_written_is_read_back(built: Provenance) -> None:
    """Property: reading is the inverse of writing."""
    assert read(built.text()) == built


def test_later_keys_are_passed_over_and_wrong_types_are_absent() -> None:
    text = json.dumps({"kind": "vllm", "source": "pr:7", "commit": 7, "duration_s": "long", "patches": ["a"]})
    assert read(text) == Provenance(kind="vllm", source="pr:7")


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["kind", "source", "duration_s", "x"]), inner),
    max_leaves=5,
)


@given(st.text() | json_values.map(json.dumps))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    """Property: whatever lies in the file, the answer is a provenance with kind and source, or None."""
    built = read(text)
    assert built is None or (built.kind and built.source)
