"""Stands in for the compiled kernels, which a wrong pair of Python tree and wheel cannot load."""
