"""Policies that wrap another policy."""
