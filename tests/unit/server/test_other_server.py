"""Whether what answers at a port is the release's server."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.server.health import other_server

PATH = "/mnt/models/Qwen3.6-27B"


def models(**card: object) -> str:
    return json.dumps({"object": "list", "data": [{"id": "Qwen3.6-27B", "object": "model", **card}]})


@pytest.mark.parametrize(
    "body",
    [models(root=PATH), models(root="Qwen3.6-27B"), models(), models(root=None), '{"error": "Unauthorized"}', "", "[]"],
)
def test_what_does_not_speak_against_it_is_believed(body: str) -> None:
    assert other_server(body, "Qwen3.6-27B", PATH, unit_runs=True) is None


def test_other_weights_under_the_same_name_are_a_stale_server() -> None:
    found = other_server(models(root="/mnt/models/old"), "Qwen3.6-27B", PATH, unit_runs=True)
    assert found == f"what answers as Qwen3.6-27B has loaded /mnt/models/old, the release is of {PATH}: a stale server"


def test_an_answer_without_a_running_service_is_somebody_elses() -> None:
    assert "something else answers" in (other_server(models(root=PATH), "Qwen3.6-27B", PATH, unit_runs=False) or "")


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["data", "id", "root"]), inner),
    )
)
def test_any_answer_is_read(body: object) -> None:
    """Whatever JSON comes back, nothing raises."""
    other_server(json.dumps(body), "m", PATH, unit_runs=True)
