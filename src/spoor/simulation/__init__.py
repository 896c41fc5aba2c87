"""Crawls of known webs without a network, measured against the best possible crawl.

`spoor replay`, `spoor train`, `spoor watch --replay` and notebooks run these; the lab's experiments
are tables of them. They are no experiments themselves: one call, one crawl, one set of figures.
That is why they are here, below the lab and beside the live crawl, and import neither.
"""
