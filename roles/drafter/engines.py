"""What an engine build does with a DFlash drafter, by its version and, for builds of pull requests, by their number."""

import re
from dataclasses import dataclass, replace
from typing import Literal

Numbers = tuple[int, int, int]


@dataclass(frozen=True)
class EngineTraits:
    """None: not known, and then no rule speaks.

    dflash:         knows the method at all
    layer_offset:   captures layer i for target_layer_ids i (else i - 1)
    layer_types:    what becomes of sliding layers: "ignored" (run as full ones, silently), "uniform" (all alike or
                    refused), "mixed" (as trained)
    needs_v2:       mixed layers run only on the V2 model runner
    dflash2:        knows DFlash2 drafters
    top_level_mask: reads mask_token_id outside dflash_config, whichever runner
    slides_evicted: known to lose the drafter's context in its sliding layers (0.26.0)
    reserves:       for methods that draft in parallel, takes k - 1 tokens a sequence out of each step's budget
    batch_table:    takes tokens by batch size (num_speculative_tokens_per_batch_size)
    cpu:            a build for CPUs; on the published ones the V2 model runner has no Triton
    backends:       attention backends that can be non-causal, in capitals; a trailing * stands for any ending
    """

    version: str | None = None
    dflash: bool | None = None
    layer_offset: bool | None = None
    layer_types: Literal["ignored", "uniform", "mixed"] | None = None
    needs_v2: bool | None = None
    dflash2: bool | None = None
    top_level_mask: bool | None = None
    slides_evicted: bool | None = None
    reserves: bool | None = None
    batch_table: bool | None = None
    cpu: bool | None = None
    backends: frozenset[str] | None = None


UNKNOWN = EngineTraits()

_EARLY_BACKENDS = frozenset({"FLASH_ATTN", "FLEX_ATTENTION", "ROCM_*"})


def traits(version: str | None, pull_request: int | None = None) -> EngineTraits:
    """Traits of a vLLM that calls itself `version` ("0.23.0", "0.20.2rc1.dev12+gabc"), built from that pull request.

    Read in vLLM's wheels 0.19 to 0.33. A development version is somewhere before the release that it names, so what
    came with that release is not known of it.
    """
    known = _by_version(version)
    # A build of these contains what their number says, whatever version it calls itself.
    if pull_request == 40727:
        return replace(known, dflash=True, layer_offset=True)
    if pull_request == 32374:
        return replace(known, batch_table=True)
    if pull_request == 40898:
        return replace(known, dflash=True, layer_offset=True, layer_types="mixed", needs_v2=False)
    return known


def _by_version(version: str | None) -> EngineTraits:
    found = re.match(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(.*)", version or "", re.DOTALL)
    if found is None:
        return replace(UNKNOWN, version=version)
    numbers = (int(found[1]), int(found[2]), int(found[3] or 0))
    before_release = re.match(r"\.?(dev|rc|a|b)\d*", found[4]) is not None

    def since(*release: int) -> bool | None:
        first = (release[0], release[1], 0)
        if numbers == first and before_release:
            return None
        return numbers >= first

    return EngineTraits(
        version=version,
        dflash=since(0, 20),
        layer_offset=since(0, 22),
        layer_types=_layer_types(since(0, 25), since(0, 26)),
        needs_v2=True if since(0, 26) else None,
        dflash2=since(0, 28),
        top_level_mask=since(0, 28),
        slides_evicted=numbers[:2] == (0, 26) and not before_release,
        reserves=since(0, 26),
        batch_table=since(0, 24),
        cpu=re.search(r"[+.]cpu\b", found[4]) is not None,
        backends=_backends(since(0, 24), since(0, 25)),
    )


def _layer_types(uniform: bool | None, mixed: bool | None) -> Literal["ignored", "uniform", "mixed"] | None:
    if mixed:
        return "mixed"
    if uniform is False:
        return "ignored"
    return "uniform" if uniform and mixed is False else None


def _backends(flashinfer: bool | None, cpu: bool | None) -> frozenset[str] | None:
    if flashinfer is None or cpu is None:
        return None
    later = ({"FLASHINFER", "TRITON_ATTN"} if flashinfer else set()) | ({"CPU_ATTN"} if cpu else set())
    return _EARLY_BACKENDS | later
