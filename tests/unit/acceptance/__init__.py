"""Tests of roles/acceptance."""
