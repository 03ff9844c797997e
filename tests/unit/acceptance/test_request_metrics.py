"""Answers with per-request counts become exact windows."""

import json

from hypothesis import given
from hypothesis import strategies as st

from roles.acceptance.loglines import read
from roles.acceptance.request_metrics import windows_of
from roles.acceptance.window import Window, faults, pool

COUNTS = {"acceptance_histogram": [39, 52, 33, 22, 11, 38], "num_spec_steps": 195, "num_draft_tokens": 975}


def answer(counts: object) -> str:
    return json.dumps({"id": "chatcmpl-1", "choices": [], "usage": {}, "metrics": {"speculative_decoding": counts}})


def test_a_histogram_gives_all_counts() -> None:
    (window,) = read([answer(COUNTS).encode()]).windows
    assert window == Window(195, 418, 975, (156, 104, 71, 49, 38), 5, source="request")


def test_answers_of_a_stream_and_of_several_requests_are_pooled() -> None:
    reading = read([f"data: {answer(COUNTS)}".encode(), b"data: [DONE]", answer(COUNTS).encode()])
    assert (pool(reading.windows).rounds, reading.kept, reading.engine) == (390, 2, "vLLM")


def test_short_drafts_are_said() -> None:
    (window,) = read([answer({**COUNTS, "num_draft_tokens": 900}).encode()]).windows
    assert window.drafted == 900
    assert "shorter than k=5" in window.doubts[0]


def test_what_contradicts_itself_is_thrown_out() -> None:
    reading = read(
        [
            answer({**COUNTS, "num_accepted_draft_tokens": 417}).encode(),
            answer({**COUNTS, "num_draft_tokens": 1}).encode(),
        ]
    )
    assert reading.windows == ()
    assert [line.reason[:24] for line in reading.thrown_out] == ["the histogram adds up to", "1 drafted tokens do not "]


def test_an_answer_without_a_round_is_thrown_out() -> None:
    assert read([answer({"acceptance_histogram": [0, 0, 0]}).encode()]).why_nothing == (
        "none of the 1 lines about speculation can be counted: no round was made for this request"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["acceptance_histogram", "num_draft_tokens", "x"]), inner)
    ),
)


@given(JSON)
def test_any_json_is_read_without_an_exception(document: object) -> None:
    """Property: every window holds its identities."""
    found = windows_of(json.dumps({"acceptance_histogram": document, "num_draft_tokens": document}))
    assert isinstance(found, str) or not any(faults(window) for window in found)
    read([json.dumps(document).encode()])
