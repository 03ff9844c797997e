"""Answers so short that nothing is drafted: no data is never a pass, and the policy says what happens then."""

from tests.e2e.survival.ground import Ground
from tests.e2e.survival.inventories import NO_DRAFTS

INCONCLUSIVE = 4


def test_revert_goes_back_and_verifies_what_it_went_back_to(ground: Ground) -> None:
    before = ground.seen()
    ended = ground.run("deploy", "--tokens", ground.other_tokens(), inventory=ground.inventory(NO_DRAFTS))
    assert ended.code == INCONCLUSIVE, ended.all
    assert "inconclusive" in ended.out
    assert f"reverted to {before.promoted}, which answers" in ended.all
    after = ground.seen()
    assert (after.current, after.promoted, after.pending) == (before.promoted, before.promoted, None)
    assert ground.serves()


def test_keep_leaves_it_in_service_and_never_promotes_it(ground: Ground) -> None:
    before = ground.seen()
    tokens = ground.other_tokens()
    inventory = ground.inventory(NO_DRAFTS)
    ended = ground.run("deploy", "--tokens", tokens, "--inconclusive", "keep", inventory=inventory)
    assert ended.code == INCONCLUSIVE, ended.all
    assert "not promoted" in ended.all
    after = ground.seen()
    assert (after.promoted, after.pending, after.timers) == (before.promoted, None, ())
    assert ground.tokens_of(after.current) == int(tokens)
    assert ground.serves()
    ground.converge(tokens)
