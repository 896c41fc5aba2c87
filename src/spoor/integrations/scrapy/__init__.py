"""Spoor inside Scrapy: an add-on for projects that exist already (extra `scrapy`).

ADDONS = {"spoor.integrations.scrapy.Addon": 500}
SPOOR_TOPIC = "cancer research"
"""

from spoor.integrations.scrapy.addon import Addon
from spoor.integrations.scrapy.visits import Visit

__all__ = ["Addon", "Visit"]
