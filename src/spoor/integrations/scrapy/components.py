"""SPOOR_* settings → the judge, the policy and the limits of a crawl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from spoor.errors import InputError
from spoor.judges.facts import Function
from spoor.judges.topic import TopicFile
from spoor.runs.assemble import judge_and_topic, make_policy, task_of, topic_of_settings
from spoor.settings import Settings

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from spoor.protocols import Judge, Policy

TOPICS = ("SPOOR_TOPIC", "SPOOR_TOPIC_FILE", "SPOOR_WANT", "SPOOR_JUDGE")
"""Settings of the topic; without any of them Spoor stays out of a crawl."""


@dataclass(frozen=True, slots=True)
class Components:
    """The parts from which the scheduler makes its crawl."""

    policy: Policy
    judge: Judge
    pages: int | None = None
    """Budget of pages; None: no limit."""
    backoff: float = 5.0
    """Seconds before a request is tried again; twice as long each time."""
    name: str = ""
    """Name of the policy with its parameters; a paused job continues only with the same."""


class ComponentsOwner:
    """Has the components of a crawler; the scheduler finds it by `Crawler.get_addon`."""

    components: Components


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


def read_components(settings: BaseSettings) -> Components:
    """The components of these settings.

    Raises InputError, which names the setting, for values that cannot be used.
    """
    own = read_settings(settings)
    judge, subject = _judge_and_topic(own, settings.get("SPOOR_JUDGE"))
    return Components(
        make_policy(own, task_of(own, subject)),
        judge,
        own.pages,
        own.backoff,
        f"{own.policy} {own.params}" if own.params else own.policy,
    )


def _judge_and_topic(settings: Settings, judge: Any) -> tuple[Judge, TopicFile | None]:
    """The judge, and the topic for the policy."""
    if settings.want and judge:
        raise InputError("set SPOOR_WANT or SPOOR_JUDGE, not both")
    if judge:
        return _judge(judge), topic_of_settings(settings)
    return judge_and_topic(settings)


def _judge(given: Any) -> Judge:
    """A judge, or a function of a page, or the import path of either."""
    try:
        loaded = load_object(given)
    except (ValueError, ImportError, NameError, TypeError) as error:
        raise InputError(f"SPOOR_JUDGE {given!r} cannot be imported: {error}") from error
    if isinstance(loaded, type) and hasattr(loaded, "judge"):
        loaded = loaded()
    if hasattr(loaded, "judge"):
        judge: Judge = loaded
        return judge
    if not callable(loaded):
        raise InputError(f"SPOOR_JUDGE {given!r} is neither a judge nor a function of a page")
    return Function(loaded)
