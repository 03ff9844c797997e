"""What an SGLang server says about itself, and what its counters tell of a run. SGLang 0.4.6-0.5.23."""

import re
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from math import isfinite

from roles.load.values import at, known, number, row, text, whole

_METHODS = {"EAGLE3": "eagle3", "STANDALONE": "draft_model", "NGRAM": "ngram", "DFLASH": "dflash", "DSPARK": "dspark"}
_COUNTER = re.compile(
    r"^sglang:(spec_verify_calls|generation_tokens|num_requests)_total(?:\{[^}]*\})?\s+([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?)\s*$"
)


def conditions_in(info: Mapping[str, object]) -> dict[str, object]:
    """What /server_info says that numbers depend on; only named fields, for the rest may hold secrets."""
    algorithm = (text(info, "speculative_algorithm") or "").upper()
    drafter = text(info, "speculative_draft_model_path")
    draft_tokens, branches = (whole(info, f"speculative_{name}") for name in ("num_draft_tokens", "eagle_topk"))
    chain = branches in {None, 1}
    return known(
        {
            "engine": f"sglang {text(info, 'version') or ''}".strip(),
            "model": text(info, "model_path") or text(info, "served_model_name"),
            "drafter": drafter,
            "method": _method(algorithm, drafter) if "speculative_algorithm" in info else None,
            # SGLang counts the last token of the round before as one of those that are verified.
            "k": draft_tokens - 1 if algorithm and draft_tokens and chain else None,
            "draft_tokens": draft_tokens if algorithm else None,
            "steps": whole(info, "speculative_num_steps") if algorithm else None,
            "topk": branches if algorithm else None,
            "adaptive": at(info, "speculative_adaptive") or None,
            "quantization": text(info, "quantization"),
            "tensor_parallel": whole(info, "tp_size"),
            "prefix_cache": None if (off := at(info, "disable_radix_cache")) is None else not off,
        }
    )


EXACT: Mapping[str, object] = {"return_spec_tokens_details": True}
"""What a request asks for so that its answer says how many drafted tokens each round had accepted (from 0.5.19)."""


def counts_in(answers: Iterable[tuple[int, ...]], k: int | None) -> dict[str, object] | None:
    """The pooled counts of answers, each as how many of its rounds had 0, 1, 2 ... accepted; None without a round.

    Position i counts in every round with more than i accepted, which is what vLLM counts.
    """
    pooled = [sum(counts) for counts in zip_longest(*answers, fillvalue=0)]
    rounds = sum(pooled)
    if not rounds:
        return None
    positions = len(pooled) - 1 if k is None else k
    return {
        "rounds": rounds,
        "accepted": sum(accepted * count for accepted, count in enumerate(pooled)),
        "drafted": rounds * (k or 0),
        "per_position": [sum(pooled[position + 1 :]) for position in range(positions)],
        "k": k,
    }


def counts_between(before: str | None, after: str | None, k: int | None) -> dict[str, object] | None:
    """Rounds and accepted tokens between two texts of /metrics; None where they do not say, as before 0.5.13.

    Rounds are counted. Accepted are the generated tokens without the bonus token of each round and without each
    request's first token, which prefill makes: a little few where an answer ends inside a draft.
    """
    was, now = (_read(text or "") for text in (before, after))
    grown = {name: value - was.get(name, 0) for name, value in now.items()}
    rounds = grown.get("spec_verify_calls", 0)
    if before is None or rounds <= 0 or "generation_tokens" not in now or min(grown.values()) < 0:
        return None
    accepted = max(0, grown["generation_tokens"] - grown.get("num_requests", 0) - rounds)
    drafted = rounds * k if k else 0
    return {"rounds": rounds, "accepted": accepted, "drafted": drafted, "per_position": [], "k": k}


def length_since_start(info: Mapping[str, object]) -> float | None:
    """Mean tokens a round since the server's start or its last reset, of its first scheduler; None before a round."""
    states = row(info, "internal_states")
    return number(states[0], "avg_spec_accept_length") if states else None


def _method(algorithm: str, drafter: str | None) -> str:
    """The method by vLLM's name. NEXTN is EAGLE by another name; without a drafter of its own it is the model's MTP."""
    if algorithm in {"EAGLE", "NEXTN"}:
        return "eagle" if drafter else "mtp"
    return _METHODS.get(algorithm, algorithm.lower()) or "off"


def _read(metrics: str) -> dict[str, int]:
    """Counters, added over their labels."""
    values: dict[str, int] = {}
    for line in metrics.splitlines():
        found = _COUNTER.match(line)
        if found and isfinite(value := float(found[2])):
            values[found[1]] = values.get(found[1], 0) + round(value)
    return values
