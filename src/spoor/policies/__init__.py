"""Policies: a file or a package each, siblings that never import one another."""
