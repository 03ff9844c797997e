"""Reading an answer: the same Completion however the bytes are cut, and never an exception."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from roles.load.answer import AnswerReader
from roles.load.completion import Completion
from roles.load.event import read
from roles.load.frame import learn
from roles.load.sse import EventReader

CASES = sorted((Path(__file__).parents[2] / "cases" / "load").glob("stream-*.json"))


def completion_of(blocks: Sequence[bytes]) -> Completion:
    """The answer when block i arrives i seconds after the request."""
    reader = AnswerReader()
    for index, block in enumerate(blocks):
        reader.feed(block, float(index))
    reader.finish(float(len(blocks)))
    return reader.completion(ended_s=99, status=200)


def without_times(answer: Completion) -> tuple[Completion, int]:
    """All that must not depend on the blocks, and the number of arrivals."""
    return replace(answer, arrivals_s=(), ttft_s=None, latency_s=0), len(answer.arrivals_s)


def cut(content: bytes, places: Sequence[int]) -> list[bytes]:
    ends = sorted({0, len(content), *(place % (len(content) + 1) for place in places)})
    return [content[start:end] for start, end in pairwise(ends)] or [b""]


def _event(delta: dict[str, Any], reason: str | None, **more: object) -> dict[str, object]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason, **more}]}


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    [" the", "\u2028", "\x85", '"', "\\"]
)
EVENTS = st.lists(
    st.one_of(
        TEXT.map(lambda text: _event({"content": text}, None)),
        TEXT.map(lambda text: _event({"reasoning": text}, None)),
        st.tuples(TEXT, TEXT).map(lambda texts: _event({"content": texts[0], "reasoning": texts[1]}, None)),
        TEXT.map(lambda text: _event({"role": "assistant", "content": text}, None)),
        TEXT.map(lambda text: _event({"content": text}, None, logprobs={"content": [{"token": text}]})),
        TEXT.map(lambda text: {"choices": [{"index": 0, "text": text, "finish_reason": None}]}),
        st.sampled_from(["stop", "length"]).map(lambda reason: _event({}, reason)),
        st.sampled_from(["stop", "length"]).map(lambda reason: _event({"content": " x"}, reason)),
        st.integers(0, 2).map(lambda count: {"choices": [], "usage": {"completion_tokens": count}}),
        st.integers(0, 2).map(lambda count: {**_event({"content": " x"}, None), "usage": {"completion_tokens": count}}),
        TEXT.map(lambda text: {"error": {"message": f"e{text}"}}),
    ),
    max_size=12,
)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Streams as engines write them: their line ends, their JSON styles, comments between, DONE or not."""
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    dumps = draw(
        st.sampled_from(
            [
                lambda event: json.dumps(event, ensure_ascii=False),
                lambda event: json.dumps(event, separators=(",", ":")),
                lambda event: json.dumps(event, indent=1),
                lambda event: json.dumps(event, ensure_ascii=False, separators=(",", ":")),
            ]
        )
    )
    payloads = [dumps(event) for event in draw(EVENTS)] + draw(
        st.sampled_from([["[DONE]"], [], ["{oops"], ["[DONE]", "{}"]])
    )
    parts = []
    for payload in payloads:
        parts.append(draw(st.sampled_from(["", f": ping{end}{end}", f"event: x{end}", f"id: 7{end}"])))
        space = draw(st.sampled_from(["", " "]))
        parts += [f"data:{space}{line}{end}" for line in payload.split("\n")] + [end]
    return "".join(parts).encode()


@given(streams() | st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=40))
def test_any_cut_of_the_bytes_gives_the_same_answer(content: bytes, places: list[int]) -> None:
    assert without_times(completion_of(cut(content, places))) == without_times(completion_of([content]))


@given(streams())
def test_byte_by_byte_gives_the_same_answer(content: bytes) -> None:
    blocks = [bytes([byte]) for byte in content]
    assert without_times(completion_of(blocks)) == without_times(completion_of([content]))


@given(EVENTS)
@example(
    [
        {**_event({"content": " x"}, None), "usage": {"completion_tokens": 1}},
        {"choices": [], "usage": {"completion_tokens": 2}},
        {**_event({"content": " y"}, None), "usage": {"completion_tokens": 1}},
    ]
)
def test_the_answer_is_what_parsing_each_event_up_to_an_error_gives(events: list[dict[str, Any]]) -> None:
    """The short cut through learnt frames never changes what is read."""
    content = "".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events) + "data: [DONE]\n\n"
    errors = [index for index, event in enumerate(events) if "error" in event]
    good = events[: errors[0]] if errors else events
    choices = [choice for event in good for choice in event["choices"]]
    texts = [choice.get("delta", {}).get("content", "") + choice.get("text", "") for choice in choices]
    reasonings = [choice.get("delta", {}).get("reasoning", "") for choice in choices]
    reasons = [choice["finish_reason"] for choice in choices if choice["finish_reason"]]
    usages = [event["usage"]["completion_tokens"] for event in good if "usage" in event]
    answer = completion_of([content.encode()])
    assert answer.text == "".join(texts)
    assert answer.reasoning == "".join(reasonings)
    assert len(answer.arrivals_s) == sum(bool(pair[0] or pair[1]) for pair in zip(texts, reasonings, strict=True))
    assert answer.finish_reason == (reasons[-1] if reasons else None)
    assert answer.completion_tokens == (usages[-1] if usages else None)
    assert answer.error == ("error" if errors else None)


@settings(max_examples=300)
@given(
    st.sampled_from(["", '"content":', {"content": "x"}, {"content": "x", "text": "y"}, "\\", '\\"content\\":\\"']),
    TEXT.filter(bool),
    st.sampled_from(['"', "\\", "\x00", "\n", '","content":"', "é", ""]),
    st.integers(0, 6),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 3), st.text('ab"\\{}:, \n\x00é', max_size=3)), max_size=1),
    st.booleans(),
)
def test_a_frame_reads_nothing_that_a_parser_would_read_differently(
    note: object, text: str, inserted: str, place: int, edits: list[tuple[int, int, str]], spaced: bool
) -> None:
    """Whatever is changed in a payload, at its text or elsewhere: the frame leaves it to the parser, or both agree."""
    choice = {"index": 0, "note": note, "delta": {"content": text}, "finish_reason": None}
    payload = json.dumps({"note": note, "choices": [choice]}, separators=None if spaced else (",", ":"))
    frame = learn(payload, read(payload))
    if frame is None:
        assert isinstance(note, dict), "a plain event gives no frame"
        return
    start = min(len(frame.prefix) + place, len(payload) - len(frame.suffix))
    changed = payload[:start] + inserted + payload[start:]
    for start, length, new in edits:
        changed = changed[:start] + new + changed[start + length :]
    seen = frame.text_in(changed)
    assert seen is None or read(changed) == replace(read(payload), text=seen)


def test_a_frame_saves_parsing_the_next_token() -> None:
    payload = json.dumps(_event({"content": " one"}, None))
    frame = learn(payload, read(payload))
    assert frame is not None
    assert frame.text_in(payload.replace(" one", " zwölf")) == " zwölf"
    assert frame.text_in(payload.replace("null", '"stop"')) is None


def test_each_event_has_the_time_of_its_block() -> None:
    events = [f"data: {json.dumps(_event({'content': word}, None))}\n\n".encode() for word in ("a", "b", "c")]
    answer = completion_of([b"", events[0], events[1] + events[2], b"data: [DONE]\n\n"])
    assert answer.arrivals_s == (1.0, 2.0, 2.0)
    assert answer.ttft_s == 1.0
    assert answer.latency_s == 2.0


def test_latency_is_to_the_last_token_and_not_to_the_end_of_the_stream() -> None:
    events = (_event({"content": "a"}, None), _event({}, "stop"), {"choices": [], "usage": {"completion_tokens": 2}})
    blocks = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    assert completion_of([*blocks, b"data: [DONE]\n\n"]).latency_s == 1.0


def test_halves_of_a_character_that_were_escaped_apart_meet_again() -> None:
    halves = [f'data: {{"choices": [{{"text": "{half}"}}]}}\n\n' for half in ("\\ud83d", "\\ude42", "\\ud83d")]
    assert completion_of(["".join(halves).encode()]).text == "🙂�"


def test_a_line_without_an_end_does_not_fill_the_memory() -> None:
    reader = AnswerReader()
    for _ in range(6):
        reader.feed(b"data: " + b"x" * 1_000_000, 0)
    answer = reader.completion(ended_s=1, status=200)
    assert answer.error == "unreadable"


def test_several_data_lines_are_one_event() -> None:
    assert EventReader().feed(b'data: {"a":\ndata:1}\n\n') == ['{"a":\n1}']


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_streams_of_real_servers_read_as_expected(path: Path) -> None:
    case = json.loads(path.read_text())
    content = "".join(f"{line}\n" for line in case["lines"]).encode()
    answer = completion_of([content])
    told = {name: getattr(answer, name) for name in case["completion"] if name != "events"}
    seen = {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}
    assert {**seen, "events": len(answer.arrivals_s)} == case["completion"]


@given(st.binary(max_size=300))
def test_no_body_that_is_not_streamed_makes_it_raise(body: bytes) -> None:
    reader = AnswerReader()
    reader.whole(body, 1.0)
    assert reader.completion(ended_s=1, status=200).error in {"unreadable", "error"}
