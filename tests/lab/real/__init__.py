"""A real vLLM for CPUs, with a real tiny model, in a container of the practice ground."""
