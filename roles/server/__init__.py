"""Launching the engine, its phases, its health and why it died."""
