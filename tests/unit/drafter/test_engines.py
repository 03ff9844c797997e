"""What each engine version does with a DFlash drafter, and what a pull request's build does whatever it calls itself."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.drafter.engines import UNKNOWN, traits


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("0.19.1", {"dflash": False}),
        ("0.20.0", {"dflash": True, "layer_offset": False, "layer_types": "ignored"}),
        ("0.21.0", {"layer_offset": False, "layer_types": "ignored"}),
        ("0.22.0", {"layer_offset": True, "layer_types": "ignored"}),
        ("0.24.0", {"layer_types": "ignored", "top_level_mask": False}),
        ("0.25.0", {"layer_types": "uniform", "dflash2": False}),
        ("0.26.0", {"layer_types": "mixed", "needs_v2": True, "slides_evicted": True}),
        ("0.27.1", {"layer_types": "mixed", "slides_evicted": False, "top_level_mask": False, "dflash2": False}),
        ("0.28.0", {"dflash2": True, "top_level_mask": True}),
        ("0.33.0+cu130.precompiled", {"layer_types": "mixed", "dflash2": True, "layer_offset": True}),
        ("v1.2", {"layer_types": "mixed", "dflash": True}),
        ("0.22.0rc1.dev12+gabc", {"layer_offset": None, "dflash": True, "layer_types": "ignored"}),
        ("0.22.1.dev3+gabc", {"layer_offset": True}),
        ("0.25.0.dev0", {"layer_types": None}),
        ("0.26.0.dev0", {"layer_types": None, "slides_evicted": False}),
    ],
)
def test_version_has_these_traits(version: str, wanted: dict[str, Any]) -> None:
    found = traits(version)
    assert {name: getattr(found, name) for name in wanted} == wanted


def test_pull_request_has_what_its_number_says() -> None:
    built = traits("0.20.1.dev7+gabc.precompiled", 40898)
    assert (built.dflash, built.layer_offset, built.layer_types, built.needs_v2) == (True, True, "mixed", False)
    offset = traits("0.20.1", 40727)
    assert (offset.layer_offset, offset.layer_types) == (True, "ignored")
    assert traits(None, 40898).layer_types == "mixed"
    assert traits("0.20.1", 1) == traits("0.20.1")


@given(st.text(alphabet="v.-+dev rc") | st.none())
def test_what_is_no_version_is_not_known(version: str | None) -> None:
    """Property: text without a number has no trait."""
    assert traits(version).layer_types is None
    assert traits(version).dflash is UNKNOWN.dflash


@given(st.text())
def test_any_text_is_a_version_that_can_be_asked_about(version: str) -> None:
    """Property: nothing an engine calls itself raises."""
    assert traits(version).version == version
