"""What SGLang's own counters tell of a run."""

from hypothesis import given
from hypothesis import strategies as st

from roles.load.sglang import conditions_in, counts_between, counts_in


def metrics(rounds: int, tokens: int, requests: int) -> str:
    return (
        f'sglang:spec_verify_calls_total{{model_name="m",tp_rank="0"}} {rounds}.0\n'
        f'sglang:generation_tokens_total{{is_streaming="true"}} {tokens - 5}.0\n'
        f'sglang:generation_tokens_total{{is_streaming="false"}} 5.0\n'
        f"sglang:num_requests_total {requests}.0\nsglang:spec_accept_length 2.9\n"
    )


def test_rounds_are_counted_and_accepted_tokens_are_what_else_came() -> None:
    found = counts_between(metrics(100, 500, 4), metrics(200, 790, 14), 3)
    assert found == {"rounds": 100, "accepted": 180, "drafted": 300, "per_position": [], "k": 3}


def test_histograms_of_answers_are_exact_counts_by_position() -> None:
    found = counts_in([(1, 2, 0, 3), (4, 0), ()], 3)
    assert found == {"rounds": 10, "accepted": 11, "drafted": 30, "per_position": [5, 3, 3], "k": 3}
    assert counts_in([(0, 0), ()], 3) is None


def test_without_speculation_or_counters_or_after_a_restart_there_are_no_counts() -> None:
    assert counts_between(metrics(0, 500, 4), metrics(0, 790, 14), None) is None
    assert counts_between("", "sglang:spec_accept_length 2.9", 3) is None
    assert counts_between(None, metrics(200, 790, 14), 3) is None
    assert counts_between(metrics(300, 900, 9), metrics(200, 790, 14), 3) is None


def test_the_names_that_methods_have_in_sglang_are_told_apart() -> None:
    info = {"speculative_algorithm": "NEXTN", "speculative_num_draft_tokens": 4, "speculative_eagle_topk": 1}
    assert conditions_in(info)["method"] == "mtp"
    assert conditions_in({**info, "speculative_draft_model_path": "d"})["method"] == "eagle"
    assert conditions_in({"speculative_algorithm": "DFLASH", "speculative_num_draft_tokens": 16})["k"] == 15
    assert conditions_in({"speculative_algorithm": None})["method"] == "off"
    assert "method" not in conditions_in({})


def test_a_tree_has_no_k() -> None:
    tree = {"speculative_algorithm": "EAGLE3", "speculative_num_draft_tokens": 8, "speculative_eagle_topk": 4}
    assert conditions_in(tree)["draft_tokens"] == 8
    assert "k" not in conditions_in(tree)


@given(st.text(), st.text())
def test_any_text_is_read(before: str, after: str) -> None:
    """Property: nothing in a server's answer raises."""
    counts_between(before, f"{after}\nsglang:spec_verify_calls_total 1e999\n{after}", 3)
