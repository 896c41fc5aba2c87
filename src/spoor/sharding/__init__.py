"""One crawl split over several workers: pure, whatever carries the messages."""
