"""How patient a deploy is, and how long its parts take: values of an inventory, each at its dotted path."""

Changes = dict[str, object]


def _changes(
    *, start_timeout_s: float, gate_timeout_s: float, stop_timeout_s: float, clock: float, prompts: int
) -> Changes:
    return {
        "defaults.server.start_timeout_s": start_timeout_s,
        "defaults.server.stop_timeout_s": stop_timeout_s,
        "defaults.server.env.SPECRAIL_LAB_CLOCK": str(clock),
        "defaults.gate.timeout_s": gate_timeout_s,
        "defaults.gate.prompts": prompts,
        "defaults.gate.max_tokens": 20,
        # Whether a drafter is any good is not the question here: what has drafts passes.
        "defaults.gate.min_acceptance_length": 1,
        "defaults.gate.max_drop": 1,
    }


QUICK = _changes(start_timeout_s=20, gate_timeout_s=20, stop_timeout_s=5, clock=60, prompts=3)
"""A deploy that nothing holds up."""

LONG_GATE = _changes(start_timeout_s=20, gate_timeout_s=20, stop_timeout_s=5, clock=60, prompts=50)
"""A gate that is still going on when one has read that it began."""

SHORT_PATIENCE = _changes(start_timeout_s=3, gate_timeout_s=3, stop_timeout_s=1, clock=60, prompts=50)
"""The same, and the host goes back by itself 10 s after the switch."""

STUCK_START = _changes(start_timeout_s=2, gate_timeout_s=1, stop_timeout_s=1, clock=0.5, prompts=3)
"""A start that takes longer than anybody waits for; the host goes back by itself 6 s after the switch."""

NO_DRAFTS: Changes = {**QUICK, "defaults.gate.max_tokens": 1}
"""Answers of one token, which the target makes by itself."""

TUNNEL: Changes = {"hosts.ct129.server.reach": "tunnel"}
"""A server that is asked through ssh alone."""
