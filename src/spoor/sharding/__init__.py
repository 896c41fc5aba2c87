"""One crawl split over several workers: no I/O; the driver transports the messages."""
