"""A watch tells an event once, and its end once."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from inventory.errors import UnreachableError
from inventory.models import Gate
from roles.acceptance.loglines import read
from roles.acceptance.textfile import write
from roles.acceptance.watching import Event, State, answers, at, away, from_json, look, to_json
from tests.unit.acceptance.printed_logs import log
from tests.unit.acceptance.simulate import ALL_WRONG_C1, RIGHT_K15

GOOD = log(RIGHT_K15, windows=2)
DEAD = log(ALL_WRONG_C1, windows=2)


def after(*logs: bytes) -> tuple[State, list[list[Event]]]:
    state, told = State(), []
    for text in logs:
        state, events, _ = look(state, read(text.splitlines()), policy=Gate(), host="ct129")
        state = from_json(to_json(state))
        told.append(list(events))
    return state, told


def test_an_alarm_is_told_when_it_begins_and_when_it_is_over() -> None:
    state, told = after(GOOD, DEAD, DEAD, b"", DEAD, GOOD, GOOD)
    assert [[event.kind for event in events] for events in told] == [[], ["alarm"], [], [], [], ["recovered"], []]
    assert told[1][0].id == "several-fields-wrong"
    assert told[1][0].next == "invoke drafter --host ct129"
    assert state.alarm is None


def test_a_watch_that_begins_in_a_broken_server_tells_it() -> None:
    _, told = after(DEAD)
    assert [event.kind for event in told[0]] == ["alarm"]


def test_an_old_good_hour_does_not_hide_a_collapse() -> None:
    _, told = after(log(RIGHT_K15, windows=300), log(ALL_WRONG_C1, windows=1))
    assert [event.kind for event in told[1]] == ["alarm"]


def test_silence_ends_no_alarm_and_begins_none() -> None:
    state, told = after(DEAD, b"", b"")
    assert state.alarm is not None
    assert told[1:] == [[], []]
    assert after(b"", b"")[1] == [[], []]


def test_a_host_that_is_away_is_told_once_and_keeps_its_alarm() -> None:
    state, _ = after(GOOD, DEAD)
    gone = UnreachableError("192.0.2.9 does not answer", where=["ct129"])
    state, told = away(state, gone, "ct129")
    assert told == (
        Event(
            "alarm",
            "unreachable",
            "cannot be read: 192.0.2.9 does not answer",
            "invoke status --host ct129",
        ),
    )
    state, told = away(from_json(to_json(state)), gone, "ct129")
    assert told == ()
    assert state.alarm == "several-fields-wrong"
    state, events, _ = look(state, read(GOOD.splitlines()), policy=Gate(), host="ct129")
    assert [(event.kind, event.id) for event in events] == [
        ("recovered", "unreachable"),
        ("recovered", "several-fields-wrong"),
    ]
    assert (state.alarm, state.away) == (None, False)


def test_a_server_that_does_not_answer_is_told_once_it_is_silent_too() -> None:
    starting, told = answers(State(), "Connection refused", quiet=False, host="ct129")
    assert (starting.down, told) == (False, ())
    down, (event,) = answers(starting, "Connection refused", quiet=True, host="ct129")
    assert (event.kind, event.id, event.next) == ("alarm", "server-down", "invoke logs --host ct129")
    assert answers(from_json(to_json(down)), "Connection refused", quiet=True, host="ct129") == (down, ())
    up, (event,) = answers(down, None, quiet=False, host="ct129")
    assert (event.kind, up.down) == ("recovered", False)
    assert answers(up, None, quiet=True, host="ct129") == (up, ())


def test_counts_go_on_over_all_looks() -> None:
    state, _ = after(GOOD, GOOD, GOOD)
    assert state.rounds == 6 * 300


def test_metrics_are_in_prometheus_text_format(tmp_path: Path) -> None:
    state, _, found = look(State(), read(DEAD.splitlines()), policy=Gate(), host="ct129")
    write(tmp_path / "ct129.prom", {"ct129": (state, found), 'odd" \\ name': (State(), None)}, 1.5)
    text = (tmp_path / "ct129.prom").read_text()
    values = {
        (sample.name, sample.labels.get("position")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels["host"] == "ct129"
    }
    assert values["specrail_acceptance_alarm", None] == 1
    assert values["specrail_watched_rounds", None] == 600
    assert values["specrail_watch_timestamp_seconds", None] == 1.5
    assert 0 < values["specrail_acceptance_position_rate", "0"] < 0.3
    assert values["specrail_acceptance_length", None] < 1.5
    up = {
        sample.labels["host"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "specrail_watch_up"
    }
    assert up == {"ct129": 1, 'odd" \\ name': 0}


def test_metrics_leave_out_what_is_not_known(tmp_path: Path) -> None:
    state, _, found = look(State(), read([]), policy=Gate(), host="ct129")
    write(tmp_path / "ct129.prom", {"ct129": (state, found)}, 1.5)
    assert "specrail_acceptance_length{" not in (tmp_path / "ct129.prom").read_text()


def test_where_the_log_goes_on_is_remembered() -> None:
    state = from_json(to_json(at(State(), 77, 4096)))
    assert (state.inode, state.offset) == (77, 4096)


@given(st.binary())
def test_a_memory_that_cannot_be_read_is_a_new_one(text: bytes) -> None:
    """Property: no bytes raise, and a state that is read can be written again."""
    state = from_json(text)
    assert from_json(to_json(state)) == state
