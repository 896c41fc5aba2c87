"""The duel: live crawlers on the same tasks, counted by the server (docs/duel.md)."""
