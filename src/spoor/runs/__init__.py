"""One run: its folder, settings, journal, rows and recovery.

For those outside: `assemble` (settings → crawl), `writer` (the one writer), `reader` (the one
reader, `spoor.open`) and `shards` (a run in several folders). The other modules are its own.
"""
