"""The stand-in engine speaks vLLM's HTTP: completions, streams, models, keys, refusals."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.unit.lab.engine.process import TIMEOUT_S, Engine, Launch, chat

PROMPT = "Describe how rivers shape valleys over thousands of years"
USAGE = {"stream_options": {"include_usage": True}}


@pytest.fixture(scope="module")
def engine(launch: Callable[..., Launch]) -> Iterator[Engine]:
    with Engine(launch(k=5)) as running:
        yield running.ready()


def test_a_stream_has_a_role_then_tokens_then_usage_then_done(engine: Engine) -> None:
    first, *parts, usage, done = engine.stream("/v1/chat/completions", chat(PROMPT, 60, ignore_eos=True, **USAGE))
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [part["choices"][0]["finish_reason"] for part in parts] == [None] * (len(parts) - 1) + ["length"]
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 60
    assert usage["usage"]["total_tokens"] == 60 + usage["usage"]["prompt_tokens"]
    assert done == "[DONE]"


def test_the_accepted_tokens_of_a_round_come_in_one_event(engine: Engine) -> None:
    before = engine.metrics()
    _, *parts, _ = engine.stream("/v1/chat/completions", chat(PROMPT, 60, ignore_eos=True))
    rounds = engine.metrics()["vllm:spec_decode_num_drafts_total"] - before["vllm:spec_decode_num_drafts_total"]
    assert len(parts) == 1 + rounds < 40


def test_a_stream_says_what_the_whole_answer_says(engine: Engine) -> None:
    parts = engine.stream("/v1/chat/completions", chat(PROMPT))[:-1]
    streamed = "".join(part["choices"][0]["delta"]["content"] for part in parts)
    assert streamed == engine.chat(PROMPT)["choices"][0]["message"]["content"]
    assert "usage" not in parts[-1]


def test_a_text_is_completed_whole_and_as_a_stream(engine: Engine) -> None:
    body = {"prompt": PROMPT, "max_tokens": 30, "temperature": 0}
    whole = requests.post(engine.url("/v1/completions"), json=body, timeout=TIMEOUT_S).json()
    *parts, usage, done = engine.stream("/v1/completions", body | USAGE)
    assert "".join(part["choices"][0]["text"] for part in parts) == whole["choices"][0]["text"]
    assert whole["usage"] == usage["usage"]
    assert (whole["choices"][0]["finish_reason"], done) == ("length", "[DONE]")


def test_an_answer_ends_by_itself_unless_the_end_is_ignored(engine: Engine) -> None:
    stopped = engine.chat(PROMPT, 2000)
    assert stopped["choices"][0]["finish_reason"] == "stop"
    assert 100 < stopped["usage"]["completion_tokens"] < 1000
    assert engine.chat(PROMPT, 2000, ignore_eos=True)["usage"]["completion_tokens"] == 2000


def test_text_depends_on_the_prompt_and_on_sampling(engine: Engine) -> None:
    def text(prompt: str, **more: Any) -> str:
        return str(engine.chat(prompt, **more)["choices"][0]["message"]["content"])

    assert text(PROMPT) == text(PROMPT)
    assert "rivers" in text(PROMPT, max_tokens=200)
    assert len({text(PROMPT), text("Why do cats purr?"), text(PROMPT, temperature=1), text(PROMPT, temperature=1)}) == 4
    assert text(PROMPT, temperature=1, seed=7) == text(PROMPT, temperature=1, seed=7)


def test_32_streams_at_once_get_all_their_tokens(engine: Engine) -> None:
    def tokens(number: int) -> int:
        body = chat(f"Question {number}", 50, ignore_eos=True, **USAGE)
        return int(engine.stream("/v1/chat/completions", body)[-2]["usage"]["completion_tokens"])

    with ThreadPoolExecutor(32) as pool:
        assert list(pool.map(tokens, range(32))) == [50] * 32


def test_a_client_that_hangs_up_gives_its_place_free(engine: Engine) -> None:
    body = chat(PROMPT, 20_000, ignore_eos=True, stream=True)
    with requests.post(engine.url("/v1/chat/completions"), json=body, stream=True, timeout=TIMEOUT_S) as answer:
        lines = answer.iter_lines()
        assert next(lines)
        assert engine.metrics()["vllm:num_requests_running"] == 1
    while engine.metrics()["vllm:num_requests_running"]:
        pass
    assert engine.metrics()['vllm:request_success_total{finished_reason="abort"}'] >= 1


def test_a_client_that_gives_up_waiting_gives_its_place_free(engine: Engine) -> None:
    with pytest.raises(requests.ReadTimeout):
        requests.post(engine.url("/v1/chat/completions"), json=chat(PROMPT, 30_000, ignore_eos=True), timeout=0.1)
    while engine.metrics()["vllm:num_requests_running"]:
        pass
    assert engine.metrics()["vllm:generation_tokens_total"] < 30_000


def test_a_prompt_that_is_no_utf8_is_served(engine: Engine) -> None:
    assert engine.chat("half a \ud83d pair")["usage"]["completion_tokens"] == 40


def test_it_says_what_it_serves(engine: Engine) -> None:
    (model,) = engine.get("/v1/models").json()["data"]
    assert (model["id"], model["max_model_len"]) == ("lab", 32768)
    assert engine.get("/version").json() == {"version": "0.20.1.dev1+pr40898", "lab_clock": 50}
    assert engine.get("/health").status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/v1/chat/completions", chat("Hi", model="another"), 404, "The model `another` does not exist."),
        ("/v1/chat/completions", "{", 400, "parsing the body"),
        ("/v1/chat/completions", {"model": "lab"}, 400, "messages"),
        ("/v1/chat/completions", chat("word " * 33_000), 400, "maximum context length (32768)"),
        ("/v1/chat/completions", chat("Hi") | {"temperature": "hot"}, 400, "temperature must be in [0, 2]"),
        ("/v1/completions", {"prompt": "Hi", "max_tokens": 0}, 400, "max_tokens must be at least 1"),
        ("/v1/embeddings", {"input": "Hi"}, 404, "Not Found"),
        ("/health", {}, 405, "Method Not Allowed"),
    ],
)
def test_what_cannot_be_served_is_refused(
    engine: Engine, path: str, body: dict[str, Any] | str, status: int, words: str
) -> None:
    content = {"data": body} if isinstance(body, str) else {"json": body}
    answer = requests.post(engine.url(path), timeout=TIMEOUT_S, **content)
    assert (answer.status_code, words in answer.text) == (status, True), answer.text


def test_a_key_guards_completions_and_models_but_not_health_and_metrics(launch: Callable[..., Launch]) -> None:
    with Engine(launch(environment={"VLLM_API_KEY": "s3cret"})) as engine:
        engine.ready()
        assert engine.get("/v1/models").status_code == 401
        assert engine.get("/health").status_code == engine.get("/metrics").status_code == 200
        for token, status in (("s3cret", 200), ("another", 401)):
            headers = {"Authorization": f"Bearer {token}"}
            answer = requests.get(engine.url("/v1/models"), headers=headers, timeout=TIMEOUT_S)
            assert answer.status_code == status
        assert "s3cret" not in engine.text
