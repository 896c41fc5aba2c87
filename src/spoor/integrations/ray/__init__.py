"""A crawl in shards on Ray, on one machine or a cluster (extra `ray`)."""

from spoor.integrations.ray.driver import crawl

__all__ = ["crawl"]
