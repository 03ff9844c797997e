"""A stand-in for vLLM: serves its HTTP API, log lines and counters, with a physics of its own instead of a GPU."""

from vllm import _C as _C
from vllm.features import VERSION as __version__

__all__ = ["__version__"]
