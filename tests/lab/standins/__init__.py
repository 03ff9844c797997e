"""Programs that stand in for those of a real machine; each runs on its own, with nothing but the standard library."""
