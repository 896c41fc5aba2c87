"""Judges: how much a page is what the user wants."""
