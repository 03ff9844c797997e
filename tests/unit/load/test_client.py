"""The client against a real server: what arrives, and what is said when it does not."""

import socket
import threading

import pytest

from inventory.errors import ServerError, UnreachableError, UsageError
from roles.load.client import complete_sync, get
from roles.load.endpoint import Endpoint
from roles.load.prompts import Message, Prompt
from tests.unit.load.engine import METRICS, MODEL, WORDS, Engine

KEY = "sk-canary-0123456789abcdef"
PROMPT = Prompt.user("Say something.")


def scenario(name: str) -> dict[str, object]:
    return {"scenario": name}


def test_a_stream_gives_the_text_the_counts_and_a_time_for_each_event(endpoint: Endpoint) -> None:
    answer = complete_sync(endpoint, PROMPT, max_tokens=32)
    assert answer.text == "".join(WORDS)
    assert (answer.prompt_tokens, answer.completion_tokens, answer.finish_reason) == (12, len(WORDS), "stop")
    assert answer.model == MODEL
    assert len(answer.arrivals_s) == len(WORDS)
    assert answer.ttft_s is not None
    assert 0 < answer.ttft_s == answer.arrivals_s[0] <= answer.arrivals_s[-1] <= answer.latency_s


def test_characters_and_line_ends_that_arrive_in_pieces_make_the_same_text(endpoint: Endpoint) -> None:
    answer = complete_sync(endpoint, PROMPT, max_tokens=32, extra_body=scenario("split"))
    assert answer.text == "".join(WORDS)
    assert answer.completion_tokens == len(WORDS)


def test_an_answer_that_is_not_streamed_has_counts_and_no_times_of_tokens(endpoint: Endpoint) -> None:
    answer = complete_sync(endpoint, PROMPT, max_tokens=32, stream=False)
    assert answer.text == "".join(WORDS)
    assert answer.completion_tokens == len(WORDS)
    assert answer.ttft_s is None
    assert answer.arrivals_s == ()
    assert answer.latency_s > 0


def test_the_request_says_what_was_asked_for(engine: Engine, endpoint: Endpoint) -> None:
    turns = (Message("system", "Be brief."), Message("user", "Hello"))
    complete_sync(
        endpoint,
        Prompt("id", "chat", turns),
        max_tokens=7,
        temperature=0.5,
        seed=0,
        extra_body={"chat_template_kwargs": {"enable_thinking": False}},
    )
    assert engine.paths == ["/v1/chat/completions"]
    assert engine.requests == [
        {
            "model": MODEL,
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
            "max_tokens": 7,
            "temperature": 0.5,
            "seed": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            "chat_template_kwargs": {"enable_thinking": False},
        }
    ]


def test_a_raw_prompt_goes_past_the_chat_template(engine: Engine, endpoint: Endpoint) -> None:
    answer = complete_sync(endpoint, Prompt.user("def f(", raw=True), max_tokens=7)
    assert answer.text == "".join(WORDS)
    assert engine.paths == ["/v1/completions"]
    assert engine.requests[0]["prompt"] == "def f("


def test_the_key_is_sent_as_a_bearer_token(engine: Engine) -> None:
    complete_sync(Endpoint(engine.url, MODEL, KEY), PROMPT, max_tokens=7)
    assert engine.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_no_usage_is_not_a_guess(endpoint: Endpoint) -> None:
    answer = complete_sync(endpoint, PROMPT, max_tokens=32, extra_body=scenario("no-usage"))
    assert answer.completion_tokens is None
    assert answer.text == "".join(WORDS)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("without-done", "(cut): the stream ended without [DONE]"),
        ("dropped", "(cut)"),
        ("error-midway", "(error): EngineCore is dead"),
        ("garbage", "(unreadable): not JSON: {?[31m not json"),
        ("whole-instead", "(unreadable): application/json in place of a stream"),
        ("refuse", f"404 The model `{MODEL}` does not exist."),
        ("unauthorized", "401"),
        ("stall", "(timeout): no whole answer within 0.2 s"),
    ],
)
def test_a_server_that_fails_is_quoted(endpoint: Endpoint, name: str, said: str) -> None:
    with pytest.raises(ServerError) as caught:
        complete_sync(
            endpoint, PROMPT, max_tokens=32, timeout_s=0.2 if name == "stall" else 30, extra_body=scenario(name)
        )
    assert said in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_what_had_come_before_the_cut_is_in_the_error(endpoint: Endpoint) -> None:
    with pytest.raises(ServerError) as caught:
        complete_sync(endpoint, PROMPT, max_tokens=32, extra_body=scenario("without-done"))
    assert "The quick brüne" in str(caught.value)


def test_a_refused_key_is_explained(endpoint: Endpoint) -> None:
    with pytest.raises(ServerError) as caught:
        complete_sync(endpoint, PROMPT, max_tokens=32, extra_body=scenario("unauthorized"))
    assert "server.secrets" in str(caught.value)


@pytest.mark.parametrize("name", ["unauthorized", "error-midway"])
def test_the_key_is_in_no_error_even_when_the_server_repeats_it(engine: Engine, name: str) -> None:
    with pytest.raises(ServerError) as caught:
        complete_sync(Endpoint(engine.url, MODEL, KEY), PROMPT, max_tokens=7, extra_body=scenario(name))
    assert KEY[:6] not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_nobody_listening_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = Endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}", MODEL, KEY)
        with pytest.raises(UnreachableError, match="Connection refused"):
            complete_sync(endpoint, PROMPT, max_tokens=7)
        with pytest.raises(UnreachableError, match="Connection refused") as caught:
            get(endpoint, "/metrics")
    assert f"curl -sS -m 5 {endpoint.base_url}/metrics" in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_something_that_does_not_speak_http_is_said_to_be_that() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(UnreachableError, match="not HTTP"):
            get(Endpoint(f"http://127.0.0.1:{server.getsockname()[1]}", MODEL), "/health")
        thread.join()


def test_get_gives_any_status_with_its_body(engine: Engine) -> None:
    endpoint = Endpoint(engine.url, MODEL, KEY)
    assert get(endpoint, "/metrics") == (200, METRICS)
    assert get(endpoint, "/nothing-here")[0] == 404
    assert get(endpoint, "/echo-key") == (401, f"your key is Bearer {KEY}")


def test_get_ends_when_the_server_does_not_answer(endpoint: Endpoint) -> None:
    with pytest.raises(UnreachableError, match=r"no whole answer within 0\.1 s"):
        get(endpoint, "/hang", timeout_s=0.1)


@pytest.mark.parametrize("url", ["http://h:8000/v1/", "http://h:8000/v1", "http://h:8000/", "http://h:8000"])
def test_a_base_url_is_the_servers_root(url: str) -> None:
    assert Endpoint(url, MODEL).base_url == "http://h:8000"


@pytest.mark.parametrize(
    "url", ["h:8000", "ftp://h", "http://", "http://[::1", "http://h:0x", "http://h?x=1", f"http://{'a' * 70}"]
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is no server's URL"):
        Endpoint(url, MODEL)


@pytest.mark.parametrize("url", [f"http://me:{KEY}@h:8000", f"me:{KEY}@h"])
def test_a_url_with_a_login_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        Endpoint(url, MODEL)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("key", [f"{KEY}\n", "", " ", f"{KEY}ü"])
def test_a_key_that_no_header_carries_is_refused_without_being_repeated(key: str) -> None:
    with pytest.raises(UsageError, match="API key") as caught:
        Endpoint("http://h", MODEL, key)
    assert KEY not in str(caught.value)


def test_the_key_is_not_in_the_repr() -> None:
    assert KEY not in repr(Endpoint("http://h", MODEL, KEY))
