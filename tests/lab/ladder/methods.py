"""The ways of drafting that a rung is tried with, and how each release wants to be told."""

from pathlib import Path

from tests.lab.ladder.install import Rung

METHODS = ("none", "ngram", "draft_model", "dflash")


def speculative_for(method: str, rung: Rung, models: Path) -> dict[str, object] | None:
    """The value of --speculative-config; None without speculation. models: folder of the tiny models."""
    if method == "none":
        return None
    if method == "ngram":
        return {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
    if method == "draft_model":
        # Before 0.12 the model alone says it; the word for it came later.
        named = {"method": "draft_model"} if rung.numbers >= (0, 12) else {}
        return {**named, "model": str(models / "tiny-draft"), "num_speculative_tokens": 3}
    return {"method": "dflash", "model": str(models / "tiny-dflash"), "num_speculative_tokens": 7}
