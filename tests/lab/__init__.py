"""The practice ground."""
