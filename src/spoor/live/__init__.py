"""Live crawls and watches: runs, HTTP and the crawl in one loop."""
