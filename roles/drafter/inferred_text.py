"""An inference for people and for programs."""

import json

from roles.drafter import text
from roles.drafter.check import Report
from roles.drafter.infer import CERTAIN, Inference


def table(inference: Inference, checked: Report) -> str:
    """Plain text: what was read, what was not, the candidates, and what cannot be recovered. Ends with a newline."""
    read = [value for value in inference.values if value.how in CERTAIN]
    rest = [value for value in inference.values if value.how not in CERTAIN]
    lines = ["read from the weights and the target:"]
    width = max((len(value.field) for value in inference.values), default=0)
    lines += [f"      {value.field:<{width}}  {_short(value.value)}" for value in read]
    if rest:
        lines.append(
            "inferred, assumed, or from the table of published drafters (marked in the config, under _specrail):"
        )
        for value in rest:
            lines.append(f"      {value.field:<{width}}  {_short(value.value)}  [{value.how}] {value.why}")
    if len(inference.masks) > 1:
        lines.append("candidates for the mask token, likeliest first:")
        lines += [f"      {one.token}: {'; '.join(one.reasons)}" for one in inference.masks]
    if inference.lost:
        lines.append("cannot be recovered:")
        lines += [f"      {unknown.field}: {unknown.why}" for unknown in inference.lost]
    if inference.missing:
        lines.append(f"not known at all, and needed: {', '.join(inference.missing)}")
    lines.append(f"the check of this config: {text.counts(checked.findings)}")
    lines += [f"      {one.severity} {one.field}: {one.message}" for one in checked.findings if one.severity != "info"]
    return "\n".join(lines) + "\n"


def as_json(inference: Inference, checked: Report) -> dict[str, object]:
    """The same facts for programs."""
    return {
        "config": inference.config,
        "values": [vars(value) for value in inference.values],
        "mask_candidates": [{"token": one.token, "reasons": list(one.reasons)} for one in inference.masks],
        "not_recoverable": [{"field": one.field, "why": one.why} for one in inference.lost],
        "missing": list(inference.missing),
        "check": text.as_json(checked),
    }


def _short(value: object) -> str:
    shown = json.dumps(value)
    return shown if len(shown) <= 100 else f"{shown[:97]}..."
