"""Experiments: replays of policies over webs, compared."""
