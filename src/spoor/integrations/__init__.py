"""Spoor inside other systems; each is an extra."""
