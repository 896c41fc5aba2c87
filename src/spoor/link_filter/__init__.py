"""Which links a crawl keeps out of: pure rules over the URLs and the pages that it has seen."""
