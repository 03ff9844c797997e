"""One file a verb: which roles in which order."""
