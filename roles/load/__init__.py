"""Prompts and the streaming client that makes load and times it."""
