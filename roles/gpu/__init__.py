"""NVIDIA driver, device nodes and userland."""
