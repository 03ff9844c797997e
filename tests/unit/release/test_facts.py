"""Reading what a host says about its releases."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.release.facts import parse
from roles.release.manifest import Manifest
from tests.unit.release.build import manifest, release

STATE = "now=1764400000\nboot=abc\nsystemd=1\ncurrent=releases/r2\npromoted=releases/r1\nlog=17\nrunning=1\nport=0\nfree_kib=10\n"


def test_links_sizes_and_pending() -> None:
    seen = parse(
        {"release.state": STATE, "release.pending": "nonce=n1\nrelease=r2\nprevious=r1\ndeadline=1764400100\n"}
    )
    assert (seen.current, seen.promoted, seen.systemd, seen.server_running, seen.free_bytes) == (
        "r2",
        "r1",
        True,
        True,
        10240,
    )
    assert seen.pending is not None
    assert seen.pending.deadline - seen.now == 100


def test_a_first_activation_has_no_way_back() -> None:
    seen = parse({"release.state": STATE, "release.pending": "nonce=n1\nrelease=r2\nprevious=\ndeadline=1\n"})
    assert seen.pending is not None
    assert seen.pending.previous is None


def test_releases_with_and_without_a_readable_manifest() -> None:
    good = base64.b64encode(manifest("2026-11-29T10-00-00Z-aaaa").to_json().encode()).decode()
    gate = base64.b64encode(b'{"verdict": {"outcome": "pass"}}').decode()
    junk = base64.b64encode(b"not json").decode()
    listing = (
        f"2026-11-29T10-00-00Z-aaaa {good} {gate}\n2026-11-28T10-00-00Z-bbbb {junk} \n2026-11-27T10-00-00Z-cccc  \n"
    )
    seen = parse({"release.state": STATE, "release.list": listing})
    assert [(r.id[-4:], r.manifest is not None, r.outcome) for r in seen.releases] == [
        ("cccc", False, None),
        ("bbbb", False, None),
        ("aaaa", True, "pass"),
    ]


def test_a_host_that_does_not_answer_in_this_form_is_not_guessed_at() -> None:
    with pytest.raises(ValueError, match="Welcome to the appliance"):
        parse({"release.state": "Welcome to the appliance"})


def test_a_manifest_survives_its_json() -> None:
    wanted = manifest("2026-11-29T10-00-00Z-aaaa", secret_names=("HF_TOKEN",), forced=("published-config",))
    assert Manifest.from_json(wanted.to_json()) == wanted


@given(st.text(), st.text(), st.text())
def test_any_answer_is_read(pending: str, lock: str, listing: str) -> None:
    """Files on a host may hold anything; reading them does not fail."""
    parse({"release.state": STATE, "release.pending": pending, "release.lock": lock, "release.list": listing})


@given(st.text())
def test_any_text_is_a_manifest_or_none(text: str) -> None:
    """A manifest of another version, or garbage, is told apart without an exception."""
    Manifest.from_json(text)


def test_an_outcome_needs_a_verdict() -> None:
    assert release("2026-11-29T10-00-00Z-aaaa").outcome is None
