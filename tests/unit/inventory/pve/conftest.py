"""The node that these tests call."""

from tests.unit.fake_node import connect, fake, pki

__all__ = ["connect", "fake", "pki"]
