"""Which engine build: one immutable venv, with provenance."""
