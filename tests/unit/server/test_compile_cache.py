"""Graphs from another config's cache are seen in the log of the start; those of the own cache are fine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roles.server.compile_cache import foreign_loads

OWN = "/opt/specrail/vllm/cache/compile/vllm-0.33.0-1a2b3c4d-0123456789ab"
SHARED = "/root/.cache/vllm/torch_compile_cache"
PREFIX = "(EngineCore pid=3228) INFO 11-29 14:00:11 [decorators.py:305] "


def aot(root: str) -> str:
    return f"{PREFIX}Directly load AOT compilation from path {root}/torch_aot_compile/2bd3c151/rank_0_0/model"


def folder(root: str) -> str:
    return f"{PREFIX}Using cache directory: {root}/a090bd98f2/rank_0_0/backbone for vLLM's torch.compile"


GRAPHS = f"{PREFIX}Directly load the compiled graph(s) for compile range (1, 2048) from the cache, took 0.4 s"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([aot(OWN), folder(OWN), GRAPHS], ()),
        ([folder(SHARED)], ()),  # compiled anew: nothing was loaded
        ([aot(SHARED)], (f"{SHARED}/torch_aot_compile/2bd3c151/rank_0_0/model",)),
        ([folder(SHARED), GRAPHS], (f"{SHARED}/a090bd98f2/rank_0_0/backbone",)),
        ([aot(f"{OWN}-other")], (f"{OWN}-other/torch_aot_compile/2bd3c151/rank_0_0/model",)),
        ([], ()),
    ],
)
def test_only_what_was_loaded_from_elsewhere_is_named(lines: list[str], found: tuple[str, ...]) -> None:
    assert foreign_loads(lines, OWN) == found


@given(st.lists(st.text() | st.sampled_from([aot(OWN), folder(OWN), GRAPHS])))
def test_own_cache_is_never_foreign(lines: list[str]) -> None:
    """Property: whatever else is logged."""
    assert foreign_loads(lines, OWN) == ()
