"""`python -m vllm` is the `vllm` command."""

from vllm.cli import main

main()
