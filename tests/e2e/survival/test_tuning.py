"""A tuning that is broken off: whatever was on trial, the host ends on the release that was there before."""

from tests.e2e.survival.command import Command
from tests.e2e.survival.ground import Ground
from tests.e2e.survival.inventories import QUICK

INTERRUPTED = 130

_TUNING = QUICK | {
    "defaults.server.start_timeout_s": 6,
    "defaults.gate.timeout_s": 3,
    "defaults.bench.prompts": 26,
    "defaults.bench.max_tokens": 40,
    "defaults.bench.timeout_s": 6,
}
"""Where nobody is there to do it, the host goes back 26 s after the switch."""


def on_trial(ground: Ground) -> Command:
    """A tuning whose first trial serves and is being measured."""
    tuning = ground.start("tune", "--apply", inventory=ground.inventory(_TUNING))
    tuning.until(r"\* release +trial 1")
    tuning.until(r"\* health")
    return tuning


def test_ctrl_c_sends_the_host_back_at_once(ground: Ground) -> None:
    before = ground.seen()
    tuning = on_trial(ground)
    ground.pends(previous=before.promoted)
    tuning.interrupt()
    ended = tuning.end()
    assert ended.code == INTERRUPTED, ended.all
    assert f"interrupted; {before.promoted} starts again" in ended.all
    assert ground.seen().pending is None
    assert ground.seen().lock is None
    ground.goes_back_to(before)


def test_ctrl_c_before_anything_was_started_changes_nothing(ground: Ground) -> None:
    before = ground.seen()
    tuning = ground.start("tune", inventory=ground.inventory(_TUNING))
    tuning.until(r"bench +(warm-up|1/)")
    tuning.interrupt()
    ended = tuning.end()
    assert ended.code == INTERRUPTED, ended.all
    assert "nothing was changed" in ended.all
    assert ground.seen() == before.after("started", "interrupted")


def test_a_tuning_that_dies_is_undone_by_the_host(ground: Ground) -> None:
    before = ground.seen()
    tuning = on_trial(ground)
    tuning.kill()
    tuning.end()
    ground.pends(previous=before.promoted)
    ground.goes_back_to(before)
