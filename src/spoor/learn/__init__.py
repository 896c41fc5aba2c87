"""Data structures that policies share."""
