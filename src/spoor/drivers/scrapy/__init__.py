"""Spoor inside Scrapy: an add-on for projects that exist already (extra `spoor[scrapy]`).

ADDONS = {"spoor.drivers.scrapy.Addon": 500}
SPOOR_TOPIC = "cancer research"
"""

from spoor.drivers.scrapy.addon import Addon
from spoor.drivers.scrapy.scheduler import Visit

__all__ = ["Addon", "Visit"]
