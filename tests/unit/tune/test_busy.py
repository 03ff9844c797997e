"""The speed of a run while all its streams are busy."""

from collections.abc import Iterator

import pytest

from roles.tune.busy import busy_speed


def requests(
    count: int, streams: int, *, alone_s: float, each_s: float, tokens: int = 101
) -> Iterator[dict[str, object]]:
    """Answers of `tokens` tokens whose every token takes alone_s, and each_s more for each other stream that is busy.

    Streams begin one after the other; the last ones run alone.
    """
    per_token = alone_s + each_s * (streams - 1)
    took = per_token * (tokens - 1)
    for number in range(count):
        wave, place = divmod(number, streams)
        last = number >= count - streams
        started = wave * (took + 0.5) + place * took / streams
        yield {
            "started_s": started,
            "ttft_s": 0.5,
            "latency_s": 0.5 + (took * 0.6 if last else took),  # with less company it goes faster
            "tokens": tokens,
        }


def test_the_end_of_a_run_in_which_streams_are_idle_does_not_count() -> None:
    made = [*requests(40, 8, alone_s=0.01, each_s=0.002)]
    assert busy_speed(made, 8) == pytest.approx(8 / 0.024, rel=0.05)


def test_one_stream_is_always_busy() -> None:
    made = [*requests(10, 1, alone_s=0.01, each_s=0)]
    assert busy_speed(made, 1) == pytest.approx(100, rel=0.01)


def test_where_all_are_sent_at_once_the_first_answer_ends_it() -> None:
    made = [{"started_s": 0.0, "ttft_s": 1.0, "latency_s": 1.0 + took, "tokens": 11} for took in (1.0, 2.0)]
    assert busy_speed(made, 2) == pytest.approx(2 * (10 / 1 + 10 / 2) / 2)


@pytest.mark.parametrize("made", [[], [{"started_s": 0.0, "ttft_s": None, "latency_s": 2.0, "tokens": 5}]])
def test_too_few_answers_say_nothing(made: list[dict[str, object]]) -> None:
    assert busy_speed(made, 1) is None
