"""Worlds: they answer a fetch without a network."""
