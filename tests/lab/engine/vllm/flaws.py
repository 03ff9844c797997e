"""What starts healthy and dies at the first request, with the words of the real deaths."""

import sys
from collections.abc import Callable

from vllm import traces
from vllm.compile_cache import root
from vllm.features import FAULT
from vllm.files import ModelError, Target
from vllm.speculation import Speculation

_CUDA_ERROR = (
    "CUDA error: {}\n"
    "Search for `cudaErrorAssert' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more "
    "information.\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
_ASSERTING_THREADS = 32  # the real kernel prints hundreds of these lines


def at_first_request(
    target: Target, speculation: Speculation | None, aux_layers: tuple[int, ...], tensor_parallel: int
) -> Callable[[], None] | None:
    """Return what logs the death of an engine that cannot serve; None for one that can (well or not)."""
    drafter = speculation.drafter if speculation else None
    if FAULT == "dies at the first request":
        error = ModelError("AcceleratorError", _CUDA_ERROR.format("an illegal memory access was encountered"))
        return lambda: traces.engine_died(error, tensor_parallel)
    if drafter is None:
        return None
    if drafter.mask_token_id is not None and drafter.mask_token_id >= target.vocab_size:
        return lambda: _index_out_of_bounds(target.vocab_size, tensor_parallel)
    features, wanted = drafter.features(target, aux_layers), drafter.weights.shapes["fc.weight"]
    if features != wanted[1]:
        error = ModelError(
            "RuntimeError",
            f"mat1 and mat2 shapes cannot be multiplied (8192x{features} and {wanted[1]}x{wanted[0]})",
        )
        return lambda: traces.engine_died(error, tensor_parallel)
    return None


def _index_out_of_bounds(vocab_size: int, tensor_parallel: int) -> None:
    kernel = root() / "torch_aot_compile" / "inductor_cache" / "um" / "cumwp3xbl5tik5vf6ouqh4stuokrre4j.py"
    for thread in range(_ASSERTING_THREADS):
        print(
            f"{kernel}:40: unknown: block: [1,0,0], thread: [{thread},0,0] Assertion "
            f"`index out of bounds: 0 <= tmp5 < {vocab_size}` failed.",
            file=sys.stderr,
        )
    traces.engine_died(
        ModelError("AcceleratorError", _CUDA_ERROR.format("device-side assert triggered")), tensor_parallel
    )
