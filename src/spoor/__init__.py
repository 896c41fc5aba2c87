"""Spoor: a focused web crawler that learns which links lead to what its user wants."""
