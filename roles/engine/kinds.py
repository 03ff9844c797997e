"""What differs between kinds of engine when one is built: a table, so that another engine is another row."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Precompiled:
    """How a build takes compiled libraries out of a published wheel instead of compiling them.

    switch:          environment variable that turns it on
    commit_variable: environment variable that names the wheel's commit (40 hex digits). Left to itself, vLLM's setup.py
                     guesses it from the checkout, and on a detached HEAD, a shallow clone or a rate limit silently
                     takes the newest nightly's libraries under an older Python tree
    """

    switch: str
    commit_variable: str


@dataclass(frozen=True)
class Kind:
    """One kind of engine.

    distribution: its name on a package index; module: what is imported to see that a build works
    source_folder: where in a checkout the Python project lies
    release_bytes: free space that a build without compiling needs (engine, torch and CUDA libraries, cache)
    cpu_bytes: the same with a torch for CPUs, which brings no CUDA libraries
    compile_bytes: the same for a build that compiles
    """

    name: str
    distribution: str
    module: str
    source_folder: str
    precompiled: Precompiled | None
    release_bytes: int
    cpu_bytes: int
    compile_bytes: int


KINDS = {
    "vllm": Kind(
        name="vllm",
        distribution="vllm",
        module="vllm",
        source_folder=".",
        precompiled=Precompiled("VLLM_USE_PRECOMPILED", "VLLM_PRECOMPILED_WHEEL_COMMIT"),
        release_bytes=12_000_000_000,
        cpu_bytes=4_000_000_000,  # 0.32.0: 2 GB of venv; the cache shares its files where it is on the same file system
        compile_bytes=40_000_000_000,
    )
}
