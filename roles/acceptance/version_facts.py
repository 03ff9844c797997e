"""What is known about speculation in releases of vLLM: facts that a verdict on such an engine must name."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from roles.acceptance.vllm_releases import number

_SPAN = re.compile(r"(\d+\.\d+\.\d+)[^-]*?(?:-(\d+\.\d+\.\d+).*)?")


@dataclass(frozen=True)
class _Fact:
    """Holds from `first` to before `fixed` (None: still), for these methods (() is all).

    explains: ids of the causes (`roles.acceptance.diagnosis`) that it may be behind; () is worth saying with any
    """

    first: str
    fixed: str | None
    methods: tuple[str, ...]
    explains: frozenset[str]
    text: str


_ANY: frozenset[str] = frozenset()
_SEVERAL = "several-fields-wrong"
_SLIDING = frozenset({_SEVERAL, "sliding-layers-as-full", "tail-cut-off"})
_MASK = frozenset({_SEVERAL, "mask-token-is-used", "mask-token-is-another-unused"})
_LAYERS = frozenset({_SEVERAL, "layer-ids-guessed", "nothing-accepted"})
_DFLASH = ("dflash",)

_FACTS = (
    _Fact(
        "0.8.0", "0.9.0", (), _ANY, "prints the acceptance length without the bonus token (0.9.0 and later: with it)"
    ),
    _Fact("0.8.0", "0.20.0", _DFLASH, _ANY, "has no DFlash (#36847, in 0.20.0)"),
    _Fact(
        "0.20.0",
        "0.22.0",
        _DFLASH,
        frozenset({"layer-ids-guessed", "all-positions-lower", "engine-changed"}),
        "reads the target's layers one too low (#40727, in 0.22.0): 3-5 % of the length, and acceptance cannot show it",
    ),
    _Fact(
        "0.20.0",
        "0.25.0",
        _DFLASH,
        _SLIDING,
        "ignores layer_types and sliding_window of a drafter: sliding layers run as full, which halves acceptance",
    ),
    _Fact(
        "0.25.0", "0.26.0", _DFLASH, _SLIDING, "refuses drafters that mix sliding and full layers (#47914, in 0.26.0)"
    ),
    _Fact(
        "0.20.0",
        "0.26.0",
        _DFLASH,
        frozenset({"nothing-accepted", "drafter-of-another-model"}),
        "can keep a zero lm_head for ...ForConditionalGeneration targets on the V2 runner (#47914, in 0.26.0)",
    ),
    _Fact(
        "0.26.0",
        "0.27.0",
        _DFLASH,
        _SLIDING | {"drafter-of-another-model", "engine-changed"},
        "was reported to lose acceptance with mixed drafters: their sliding layers' KV is evicted (#50169)",
    ),
    _Fact(
        "0.28.0",
        "0.29.0",
        (),
        frozenset({"engine-changed", "all-positions-lower", "changed-at-once"}),
        "was reported to take 3.19 to 2.66 tokens a round at k=15 against 0.27.1: a default changed, so say "
        "draft_sample_method in the speculative config",
    ),
    _Fact(
        "0.17.1",
        "0.18.0",
        ("eagle", "eagle3"),
        frozenset({"slow-decay"}),
        "was reported to slide from 3.07 to 2.80 over hours (#41838)",
    ),
    _Fact(
        "0.20.0",
        "0.28.0",
        _DFLASH,
        _MASK,
        "reads mask_token_id on its V1 runner inside dflash_config only, not at the top level of the config",
    ),
    _Fact(
        "0.26.0",
        None,
        _DFLASH,
        _SLIDING,
        "runs drafters that mix sliding and full layers on the V2 runner only (VLLM_USE_V2_MODEL_RUNNER=0 stops them)",
    ),
    _Fact(
        "0.29.0",
        "0.33.0",
        _DFLASH,
        frozenset({"good-and-dead-windows"}),
        "dies of requests that are longer than the drafter's max_position_embeddings (#57941, raised by 0.33.0)",
    ),
    _Fact(
        "0.20.0",
        None,
        _DFLASH,
        _LAYERS,
        "leaves target_layer_ids out of its compile cache's key: after a change the old layers may go on running",
    ),
)


def facts(version: str, method: str | None, causes: Collection[str] = ()) -> tuple[str, ...]:
    """Sentences about a release ("0.20.1") or a span ("0.20.0-0.23.0"); "some of them" where only a part has it.

    causes: ids of what was found; then only what may be behind one of them is told. () tells all that applies.
    method None is unknown: then facts of every method are told, with the method named. A build between releases
    ("0.20.1.dev1+pr40898") may have mended what the release that it starts from has, which is said.
    """
    version = version.partition("@")[0]
    found = _SPAN.fullmatch(version)
    if found is None:
        return ()
    low, high = number(found[1]), number(found[2] or found[1])
    told = []
    for fact in _FACTS:
        first, fixed = number(fact.first), number(fact.fixed) if fact.fixed else (10**6,)
        if high < first or low >= fixed:
            continue
        if causes and fact.explains and fact.explains.isdisjoint(causes):
            continue
        if fact.methods and method is not None and method not in fact.methods:
            continue
        some = "" if first <= low and high < fixed else " (some of them)"
        whose = f" with {fact.methods[0]}" if fact.methods and method is None else ""
        told.append(f"vLLM {version}{some}{whose} {fact.text}")
    if told and ".dev" in version:
        told.append(f"vLLM {version} is no release: its own changes may have mended any of this")
    return tuple(told)
