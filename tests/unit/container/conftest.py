"""The node that these tests work on."""

from tests.unit.fake_node import connect, fake, pki

__all__ = ["connect", "fake", "pki"]
