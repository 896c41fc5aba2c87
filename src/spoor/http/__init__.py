"""Fetches over HTTP, within limits."""
