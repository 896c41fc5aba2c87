"""SPOOR_* settings → the judge, the policy and the limits of a crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from spoor.errors import InputError
from spoor.orderer import Parts
from spoor.settings import Settings

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

TOPICS = ("SPOOR_TOPIC", "SPOOR_TOPIC_FILE", "SPOOR_WANT", "SPOOR_JUDGE")
"""Settings of the topic; without any of them Spoor stays out of a crawl."""


class ComponentsOwner:
    """Has the components of a crawler; the scheduler finds it by `Crawler.get_addon`."""

    components: Parts


def has_topic(settings: BaseSettings) -> bool:
    """Whether the settings give a topic."""
    return any(settings.get(name) for name in TOPICS)


def setting_name(name: str) -> str:
    """The name of a setting in Scrapy: `SPOOR_PAGES`."""
    return f"SPOOR_{name.upper()}"


def read_settings(settings: BaseSettings) -> Settings:
    """The SPOOR_* settings; a number may be a text, as on the command line.

    Raises InputError, which names the setting, the value and what is allowed.
    """
    known = Settings.of_command("scrapy")
    given = {
        name.removeprefix("SPOOR_").lower(): settings.get(name)
        for name in settings
        if name.startswith("SPOOR_") and name != "SPOOR_JUDGE"
    }
    for name in given.keys() & known.keys():
        value = known[name].parsed(given[name])
        given[name] = None if value == known[name].none else value
    values = {name: value for name, value in given.items() if value is not None}
    return Settings.of(values, "scrapy", setting_name)


def read_components(settings: BaseSettings) -> Parts:
    """The components of these settings.

    Raises InputError, which names the setting, for values that cannot be used.
    """
    own = read_settings(settings)
    judge = settings.get("SPOOR_JUDGE")
    if own.want and judge:
        raise InputError("set SPOOR_WANT or SPOOR_JUDGE, not both")
    return Parts.of(own, judge and _loaded(judge), "SPOOR_JUDGE")


def _loaded(given: Any) -> Any:
    """What an import path names; anything else is returned as it is."""
    try:
        return load_object(given)
    except (ValueError, ImportError, NameError, TypeError) as error:
        raise InputError(f"SPOOR_JUDGE {given!r} cannot be imported: {error}") from error
