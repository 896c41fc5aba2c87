"""The crawl as a pure object: no I/O, no clock, no hidden randomness."""

from spoor.crawl.crawl import FORMAT, Crawl
from spoor.crawl.flight import Counts

__all__ = ["FORMAT", "Counts", "Crawl"]
