"""The add-on: one line in ADDONS, and settings that the project can override."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import NotConfigured
from scrapy.utils.misc import load_object

from spoor.errors import InputError
from spoor.integrations.scrapy.components import (
    TOPICS,
    ComponentsOwner,
    has_topic,
    read_components,
)
from spoor.integrations.scrapy.middleware import DownloadMiddleware, LateMiddleware, PageMiddleware
from spoor.integrations.scrapy.robots import RobotsMiddleware
from spoor.settings import Settings, user_agent

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

_DEFAULTS = Settings()
POLITENESS = {
    "ROBOTSTXT_OBEY": _DEFAULTS.robots,
    "CONCURRENT_REQUESTS_PER_DOMAIN": _DEFAULTS.per_host,
    "DOWNLOAD_DELAY": _DEFAULTS.delay,
    # The crawl itself waits for the delay. With a shorter random delay a request would be too
    # early; with a longer one the crawl would choose too early.
    "DOWNLOAD_DELAY_JITTER": 0.0,
}
"""The politeness of Spoor's own crawler, unless the project sets another."""

ENGINE_SIDE = 10
"""Order before all middlewares of Scrapy for requests, and after them for responses."""

DOWNLOADER_SIDE = 990
"""The other way round."""


class Addon(ComponentsOwner):
    """Gives a Scrapy project Spoor's ordering and judging.

    Everything is set at `addon` priority, so the project, a spider and the command line can
    override it. Settings that cannot be used end the process with one line and exit code 2.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy. Raises NotConfigured where no topic is given."""
        if not has_topic(settings):
            raise NotConfigured(f"no topic is given; set one of {', '.join(TOPICS)}")
        try:
            self.components = read_components(settings)
        except InputError as error:
            # Scrapy would print a traceback and exit with 1.
            sys.stderr.write(f"spoor: {error}\n")
            raise SystemExit(2) from None
        settings.set("SCHEDULER", "spoor.integrations.scrapy.scheduler.Scheduler", "addon")
        for name, value in POLITENESS.items():
            settings.set(name, value, "addon")
        contact = settings.get("SPOOR_CONTACT")
        if contact:
            settings.set("USER_AGENT", user_agent(contact), "addon")
        settings.setdefault_in_component_priority_dict(
            "SPIDER_MIDDLEWARES", PageMiddleware, ENGINE_SIDE
        )
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", DownloadMiddleware, ENGINE_SIDE
        )
        settings.setdefault_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", LateMiddleware, DOWNLOADER_SIDE
        )
        _replace_robots(settings)


def _replace_robots(settings: BaseSettings) -> None:
    """Replace Scrapy's robots middleware by ours, unless the project sets another."""
    chosen = {load_object(path): order for path, order in _middlewares(settings).items()}
    if RobotsMiddleware in chosen:
        return
    if RobotsTxtMiddleware in chosen:
        if chosen[RobotsTxtMiddleware] is None:
            return
        settings.replace_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES", RobotsTxtMiddleware, RobotsMiddleware
        )
    base = settings.getdict("DOWNLOADER_MIDDLEWARES_BASE")
    if any(load_object(path) is RobotsTxtMiddleware for path in base):
        settings.replace_in_component_priority_dict(
            "DOWNLOADER_MIDDLEWARES_BASE", RobotsTxtMiddleware, RobotsMiddleware
        )


def _middlewares(settings: BaseSettings) -> dict[str | type, int | None]:
    found: dict[str | type, int | None] = settings.getdict("DOWNLOADER_MIDDLEWARES")
    return found
