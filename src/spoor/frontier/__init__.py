"""Frontiers: where known links wait."""
