"""One run: its folder, settings, journal, rows and recovery."""
