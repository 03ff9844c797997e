"""What this build is and can do: the one module that the commits of the lab's repository change."""

VERSION = "0.20.1"

LAYER_ID_OFFSET = 0
"""Added to a DFlash drafter's target_layer_ids: 1 since the fix of pull request 40727, 0 before (one layer off)."""

HONOURS_LAYER_TYPES = False
"""Whether sliding_attention layers of a DFlash drafter are run as such, or as full attention."""

BATCH_SIZE_TABLE = False
"""Whether --speculative-config may say how many tokens are drafted at which batch size."""

FAULT = ""
"""What this build does wrong: "", "out of memory at start" or "dies at the first request"."""
