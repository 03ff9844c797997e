"""Pruning: what nobody can want back goes, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from roles.release.facts import Pending, Release
from roles.release.prune import orphans, removable
from tests.unit.release.build import facts, release

IDS = [f"2026-11-{day:02d}T10-00-00Z-{letter * 4}" for day, letter in enumerate("abcdefgh", start=1)]


def test_the_oldest_go_first() -> None:
    there = facts(*(release(name, "pass") for name in IDS), current=IDS[-1], promoted=IDS[-1])
    assert removable(there, keep=3) == tuple(IDS[:5])


def test_what_a_rollback_goes_to_stays_however_old_it_is() -> None:
    failed = [release(name, "fail") for name in IDS[1:-1]]
    there = facts(release(IDS[0], "pass"), *failed, release(IDS[-1], "pass"), current=IDS[-1], promoted=IDS[-1])
    assert IDS[0] not in removable(there, keep=2)


def test_a_pending_activation_and_its_way_back_stay() -> None:
    pending = Pending("n", IDS[1], IDS[0], 0)
    there = facts(*(release(name) for name in IDS), current=IDS[1], promoted=None, pending=pending)
    assert not {IDS[0], IDS[1]} & set(removable(there, keep=2))


def test_a_venv_goes_with_the_last_release_that_needs_it() -> None:
    there = facts(*(release(name) for name in IDS[:3]))
    assert orphans(there, ["venv-a", "venv-b", "venv-c", "other"], gone=[IDS[0]]) == ("other", "venv-a")


def test_a_manifest_that_cannot_be_read_keeps_every_venv() -> None:
    there = facts(release(IDS[0]), Release(IDS[1], None, None))
    assert orphans(there, ["venv-a", "other"], gone=[]) == ()


@given(
    outcomes=st.lists(st.sampled_from(["pass", "fail", "inconclusive", None]), min_size=8, max_size=8),
    current=st.sampled_from([None, *IDS]),
    promoted=st.sampled_from([None, *IDS]),
    keep=st.integers(2, 6),
)
def test_what_is_in_service_or_promoted_is_never_removed(
    outcomes: list[str | None], current: str | None, promoted: str | None, keep: int
) -> None:
    """Whatever else is on the host, `current`, `promoted` and the newest `keep` stay."""
    there = facts(
        *(release(name, outcome) for name, outcome in zip(IDS, outcomes, strict=True)),
        current=current,
        promoted=promoted,
    )
    assert not {current, promoted, *IDS[-keep:]} & set(removable(there, keep))
