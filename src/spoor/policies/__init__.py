"""Policies: one file each, siblings that never import one another."""
