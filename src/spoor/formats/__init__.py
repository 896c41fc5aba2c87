"""Recorded pages in and out: JSON lines, WARC, MediaWiki dumps, mirror folders."""
