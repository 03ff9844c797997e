"""What a look at a host says of one that is not as it should be, and of a lock on it."""

from playbooks.status import StatusOutcome
from roles.gpu.facts import GpuFacts
from roles.server.health import Health
from tests.unit.release.build import facts

LOCK = {"who": "root", "controller": "vm", "verb": "deploy", "expires": 1084}


def _rows(lock_is_stale: str | None = None, **changes: object) -> dict[str, str]:
    outcome = StatusOutcome(
        host="ct129",
        release=facts(**changes),
        health=Health(alive=False, detail="nothing listens"),
        gpu=GpuFacts(),
        gpus_wanted=False,
        last=(),
        lock_is_stale=lock_is_stale,
    )
    return dict(outcome.rows())


def test_where_nothing_is_deployed_nothing_is_promoted_and_there_is_no_log_to_read() -> None:
    rows = _rows()
    assert (rows["current"], rows["promoted"]) == ("nothing is deployed", "none")
    assert rows["next"] == "invoke deploy --host ct129"


def test_a_release_that_does_not_serve_has_a_log() -> None:
    rows = _rows(current="a", promoted="a")
    assert (rows["promoted"], rows["next"]) == ("the same", "invoke logs --host ct129")


def test_a_lock_of_somebody_who_may_be_at_work_says_how_long_it_lasts() -> None:
    assert _rows(lock=LOCK)["locked"] == "by root at vm: deploy, lease ends in 84 s"


def test_a_lock_of_a_process_that_is_gone_is_not_waited_for() -> None:
    rows = _rows("its process (10329, on this machine) is gone", lock=LOCK)
    said = "by root at vm: deploy; its process (10329, on this machine) is gone: the next deploy takes over"
    assert rows["locked"] == said
