"""One folder a thing that can be so on a host: facts, plan, apply."""
