"""A server that is not the one that was deployed, or dies while it is measured, is never promoted."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.survival.ground import CTID, Ground, eventually
from tests.e2e.survival.inventories import LONG_GATE

FAILED = 1
MODEL, OTHER_MODEL = "Qwen3.6-27B", "Qwen3-8B"


@contextmanager
def stale_server(ground: Ground, model: str, served_name: str) -> Iterator[None]:
    """Somebody's engine on the port of ours, which is stopped."""
    ground.control("stop")
    folder = ground.lab.layout.container(CTID) / "mnt/models" / model
    words = [
        "serve",
        str(folder),
        "--served-model-name",
        served_name,
        "--host",
        "127.0.0.1",
        "--port",
        str(ground.port),
    ]
    process = subprocess.Popen(
        [ground.venv_of(ground.seen().current) / "bin/vllm", *words],
        env={**ground.environment, "SPECRAIL_LAB_CLOCK": "60", "VLLM_API_KEY": ground.api_key},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(ground.serves, "the stale server")
        yield
    finally:
        process.kill()
        process.wait()
        ground.control("stop")
        ground.control("start")
        eventually(lambda: ground.models() == (MODEL,), "our server")


def test_another_model_on_the_port_is_seen_before_anything_is_changed(ground: Ground) -> None:
    with stale_server(ground, OTHER_MODEL, OTHER_MODEL):
        before = ground.seen()
        ended = ground.run("deploy", "--tokens", ground.other_tokens())
        assert ended.code == FAILED, ended.all
        assert "somebody else holds" in ended.all  # the GPU's memory, which is looked at before the port
        assert ground.seen() == before


def test_a_server_that_holds_the_port_is_not_taken_for_ours_although_its_name_is_right(ground: Ground) -> None:
    """Ours is being started again and again meanwhile, so the port seems to be ours."""
    with stale_server(ground, OTHER_MODEL, MODEL):
        ground.control("start")
        before = ground.seen()
        ended = ground.run("deploy", "--tokens", ground.other_tokens())
        assert ended.code == FAILED, ended.all
        assert "is held by a process that is not this service" in ended.all
        after = ground.seen()
        assert (after.promoted, after.current, after.pending) == (before.promoted, before.promoted, None)


def test_an_engine_that_dies_during_the_gate_is_gone_back_from(ground: Ground) -> None:
    before = ground.seen()
    deploy = ground.start("deploy", "--tokens", ground.other_tokens(), inventory=ground.inventory(LONG_GATE))
    deploy.until("gate +measure 1/")
    (engine,) = ground.engines()
    os.kill(engine, signal.SIGKILL)
    ended = deploy.end()
    assert ended.code == FAILED, ended.all
    assert "the server failed while it was measured" in ended.all
    assert f"In service now: reverted to {before.promoted}, which answers" in ended.all
    after = ground.seen()
    assert (after.current, after.promoted, after.pending) == (before.promoted, before.promoted, None)
    assert ground.serves()
