"""Jinja2 templates and the one renderer."""
