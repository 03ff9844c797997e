"""How the stand-in engine ends: on SIGTERM, and by dying at a request after a healthy start."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.unit.lab.engine.process import TIMEOUT_S, Engine, Launch, chat

DEAD = "EngineCore encountered an issue. See stack trace (above) for the root cause."
NOT_IN_THE_TARGET = {"dflash_config": {"target_layer_ids": [1, 16, 31, 46, 64]}}
NOT_IN_THE_VOCABULARY = {"dflash_config": {"mask_token_id": 248320}}


def test_sigterm_ends_it_well(launch: Callable[..., Launch]) -> None:
    with Engine(launch(k=5)) as engine:
        assert engine.ready().terminate() == 0
    assert "Shutting down FastAPI HTTP server." in engine.text
    assert "Application shutdown complete." in engine.text


def test_sigterm_aborts_what_runs(launch: Callable[..., Launch]) -> None:
    with Engine(launch(k=5, clock=10)) as engine:
        body = chat("Hello", 10_000, ignore_eos=True, stream=True)
        with requests.post(
            engine.ready().url("/v1/chat/completions"), json=body, stream=True, timeout=TIMEOUT_S
        ) as answer:
            lines = answer.iter_lines()
            next(lines)
            assert engine.terminate() == 0
            with pytest.raises(requests.RequestException):
                list(lines)
    assert "Aborting 1 requests" in engine.text


def test_sigterm_ends_a_start(launch: Callable[..., Launch]) -> None:
    with Engine(launch(k=5, clock=0.01)) as engine:
        engine.wait_for("Initializing a V1 LLM engine")
        assert engine.terminate() != 0


@pytest.mark.parametrize(
    ("pull", "changes", "words"),
    [
        (40898, NOT_IN_THE_VOCABULARY, "Assertion `index out of bounds: 0 <= tmp5 < 248320` failed."),
        (40898, NOT_IN_THE_TARGET, "mat1 and mat2 shapes cannot be multiplied (8192x20480 and 25600x5120)"),
        (50003, {}, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"),
    ],
)
def test_a_server_can_be_healthy_until_its_first_request(
    launch: Callable[..., Launch], drafter: Callable[..., Path], pull: int, changes: dict[str, Any], words: str
) -> None:
    with Engine(launch(pull, k=5, drafter=drafter(**changes))) as engine:
        assert engine.ready().get("/health").status_code == 200
        answer = requests.post(engine.url("/v1/chat/completions"), json=chat("Hello"), timeout=TIMEOUT_S)
        assert (answer.status_code, answer.json()["error"]["message"]) == (500, DEAD)
        assert engine.get("/health").status_code == 503
        assert engine.wait() == 0
        with pytest.raises(requests.ConnectionError):
            engine.get("/health")
    log = engine.text
    causes = (words, "EngineCore encountered a fatal error.", f"EngineDeadError: {DEAD}", '" 500 Internal Server Error')
    assert [log.index(cause) for cause in causes] == sorted(log.index(cause) for cause in causes)


def test_a_stream_tells_of_the_engines_death_in_an_event(launch: Callable[..., Launch]) -> None:
    with Engine(launch(50003, k=5)) as engine:
        error, done = engine.ready().stream("/v1/chat/completions", chat("Hello"))
        assert error["error"] == {"message": DEAD, "type": "InternalServerError", "param": None, "code": 500}
        assert done == "[DONE]"
        assert engine.wait() == 0
    assert "Error in chat completion stream generator." in engine.text
