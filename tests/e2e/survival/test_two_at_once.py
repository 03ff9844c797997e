"""Two people at once: one wins, the other is told who; and no lock outlives its owner for long."""

import json

from tests.e2e.survival.ground import Ground, eventually


def test_the_second_deploy_is_told_who_is_at_work_and_breaks_nothing(ground: Ground) -> None:
    first_tokens = ground.other_tokens()
    first = ground.start("deploy", "--tokens", first_tokens)
    eventually(lambda: ground.seen().lock is not None, "the first one's lock")
    second = ground.run("deploy", "--tokens", "2")
    assert second.code == 5
    assert f"locked by" in second.said
    assert ": deploy" in second.said
    won = first.end()
    assert won.code == 0, won.said
    assert ground.seen().settled
    assert ground.tokens_of(ground.seen().current) == int(first_tokens)
    ground.tokens = int(first_tokens)
