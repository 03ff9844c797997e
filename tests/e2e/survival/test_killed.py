"""The controller dies at any step (SIGKILL: a laptop's lid): what was promoted stays so, and the next deploy converges."""

import re

import pytest

from tests.e2e.survival.ground import Ground
from tests.e2e.survival.inventories import SHORT_PATIENCE

NEW_CONTAINER = (
    r"\* container +create",
    r"\* container +change",
    r"\* container +start",
    r"\* engine +sent uv",
    r"\. engine +install",
    r"\* release +wrote",
)

NEW_RELEASE = (
    r"\* preflight",
    r"\* release +wrote",
    r"\* release +switched",
    r"\. server +launch",
    r"\* server +serves",
    r"\* health",
    r"\. gate +measure 1/",
    r"\* gate",
)


def test_a_container_comes_into_being_although_the_controller_dies_at_every_step(bare: Ground) -> None:
    """Each deploy is killed at the first step that none before it has come to; the last one finds all that was done."""
    to_come = list(NEW_CONTAINER)
    while to_come:
        deploy = bare.start("deploy", "--tokens", "15")
        line = deploy.until("|".join(to_come))
        deploy.kill()
        deploy.end()
        assert bare.seen().promoted is None
        to_come = to_come[1 + next(at for at, boundary in enumerate(to_come) if re.search(boundary, line)) :]
    bare.converge("15")


@pytest.mark.parametrize("boundary", NEW_RELEASE)
def test_what_is_promoted_stays_so_and_the_next_deploy_takes_over_at_once(ground: Ground, boundary: str) -> None:
    before = ground.seen()
    tokens = ground.other_tokens()
    deploy = ground.start("deploy", "--tokens", tokens)
    deploy.until(boundary)
    deploy.kill()
    deploy.end()
    left = ground.rests(before.promoted)
    status = ground.run("status").all if left.lock is not None else ""
    said = ground.converge(tokens).all
    if left.lock is not None:
        assert f"its process ({deploy.pid}, on this machine) is gone: the next deploy takes over" in status
        assert f"its process ({deploy.pid}, on this machine) is gone" in said
    assert ground.seen().timers == ()


def test_the_host_goes_back_by_itself(ground: Ground) -> None:
    before = ground.seen()
    deploy = ground.start("deploy", "--tokens", ground.other_tokens(), inventory=ground.inventory(SHORT_PATIENCE))
    deploy.until(r"\. gate +measure 1/")
    deploy.kill()
    deploy.end()
    ground.pends(previous=before.promoted)
    ground.goes_back_to(before)
    status = ground.run("status")
    assert status.code == 0, status.all
    assert "reverted" in status.all
