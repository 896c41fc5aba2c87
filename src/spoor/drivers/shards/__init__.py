"""One crawl on several processes or machines, without saying which: what Ray, or a test, drives."""
