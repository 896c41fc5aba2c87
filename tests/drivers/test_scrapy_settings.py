"""The Scrapy add-on's settings: what it sets, what stays the project's, and what is bad input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from spoor.errors import InputError
from spoor.integrations.scrapy import Addon
from spoor.integrations.scrapy.components import read_components
from spoor.integrations.scrapy.middleware import DownloadMiddleware, PageMiddleware
from spoor.integrations.scrapy.robots import RobotsMiddleware
from spoor.judges.facts import Function
from spoor.types import Page

STOCK = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
OURS = "spoor.integrations.scrapy.robots.RobotsMiddleware"


def applied(**project: Any) -> Settings:
    settings = Settings({"SPOOR_TOPIC": "kiwi", **project})
    Addon().update_settings(settings)
    return settings


def middlewares(settings: Settings, name: str) -> list[Any]:
    paths = build_component_list(settings.get_component_priority_dict_with_base(name))
    return [load_object(path) for path in paths]


def test_defaults_are_polite_and_of_addon_priority() -> None:
    settings = applied()
    assert settings.getbool("ROBOTSTXT_OBEY")
    assert settings.getfloat("DOWNLOAD_DELAY") == 1.0
    assert settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN") == 1
    for name in ("SCHEDULER", "ROBOTSTXT_OBEY", "DOWNLOAD_DELAY", "DOWNLOAD_DELAY_JITTER"):
        assert settings.getpriority(name) == 15


def test_what_the_project_says_stays() -> None:
    settings = applied(
        SCHEDULER="scrapy.core.scheduler.Scheduler", DOWNLOAD_DELAY=0.25, ROBOTSTXT_OBEY=False
    )
    assert settings["SCHEDULER"] == "scrapy.core.scheduler.Scheduler"
    assert settings.getfloat("DOWNLOAD_DELAY") == 0.25
    assert not settings.getbool("ROBOTSTXT_OBEY")


def test_a_contact_makes_the_user_agent() -> None:
    settings = applied(SPOOR_CONTACT="https://example.org/crawl")
    assert settings["USER_AGENT"].startswith("Spoor/")
    assert "(+https://example.org/crawl)" in settings["USER_AGENT"]
    own = applied(SPOOR_CONTACT="https://example.org/crawl", USER_AGENT="mine")
    assert own["USER_AGENT"] == "mine"


def test_the_middlewares_stand_once_and_in_their_places() -> None:
    settings = applied(
        SPIDER_MIDDLEWARES={"spoor.integrations.scrapy.middleware.PageMiddleware": 30}
    )
    assert middlewares(settings, "SPIDER_MIDDLEWARES").count(PageMiddleware) == 1
    found = middlewares(settings, "DOWNLOADER_MIDDLEWARES")
    assert found[0] is DownloadMiddleware
    assert RobotsMiddleware in found
    assert RobotsTxtMiddleware not in found


@pytest.mark.parametrize(
    ("chosen", "ours", "stock"),
    [
        ({}, True, False),
        ({STOCK: 120}, True, False),
        ({STOCK: None}, False, False),
        ({OURS: None}, False, True),
        ({OURS: None, STOCK: 100}, False, True),
    ],
)
def test_robots_middleware_of_the_project(
    chosen: dict[str, int | None], ours: bool, stock: bool
) -> None:
    found = middlewares(applied(DOWNLOADER_MIDDLEWARES=chosen), "DOWNLOADER_MIDDLEWARES")
    assert found.count(RobotsMiddleware) == ours
    assert found.count(RobotsTxtMiddleware) == stock


def test_without_a_wish_the_addon_is_off() -> None:
    settings = Settings({"SPOOR_POLICY": "best-first"})
    with pytest.raises(NotConfigured, match="SPOOR_TOPIC"):
        Addon().update_settings(settings)
    assert settings["SCHEDULER"] == "scrapy.core.scheduler.Scheduler"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"SPOOR_POLICY": "best-frist"}, "did you mean 'best-first'"),
        ({"SPOOR_POLICY": "oracle"}, "replay only"),
        ({"SPOOR_TOPICS": "owls"}, "unknown setting SPOOR_TOPICS (did you mean 'SPOOR_TOPIC'?)"),
        ({"SPOOR_PARAMS": {"decay": 0.5}}, "has no parameter 'decay'"),
        ({"SPOOR_PARAMS": "decay"}, "SPOOR_PARAMS 'decay' is not a table of names and values"),
        ({"SPOOR_PAGES": "many"}, "SPOOR_PAGES 'many' is not a whole number from 1 on"),
        ({"SPOOR_PAGES": -1}, "SPOOR_PAGES -1 is not a whole number from 1 on"),
        ({"SPOOR_WANT": "ulr:x"}, "did you mean 'url'"),
        ({"SPOOR_WANT": "url:x", "SPOOR_JUDGE": "builtins.bool"}, "not both"),
        ({"SPOOR_TOPIC_FILE": "there.toml"}, "not both"),
        ({"SPOOR_TOPIC": "", "SPOOR_TOPIC_FILE": "not-there.toml"}, "not-there.toml"),
        ({"SPOOR_JUDGE": "nowhere.at_all"}, "cannot be imported"),
        ({"SPOOR_JUDGE": "sys.maxsize"}, "neither a judge nor a function"),
    ],
)
def test_bad_settings_are_one_clear_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as told:
        read_components(Settings({"SPOOR_TOPIC": "kiwi", **given}))
    assert line in str(told.value)
    assert "\n" not in str(told.value)


def test_what_is_wanted_may_be_several_targets_or_a_function() -> None:
    judge = read_components(Settings({"SPOOR_WANT": ["url:a,b", "type:image/*"]})).judge
    assert judge.judge(Page("http://x/a,b")).relevant
    assert judge.judge(Page("http://x/", content_type="image/png")).relevant
    assert not judge.judge(Page("http://x/")).relevant
    function = read_components(Settings({"SPOOR_JUDGE": "builtins.bool"})).judge
    assert isinstance(function, Function)


def test_scrapy_ends_with_one_line_and_exit_code_2(tmp_path: Path) -> None:
    spider = tmp_path / "spider.py"
    spider.write_text(
        "import scrapy\n\nclass Mine(scrapy.Spider):\n    name = 'mine'\n"
        "    custom_settings = {'ADDONS': {'spoor.integrations.scrapy.Addon': 500},\n"
        "                       'SPOOR_TOPIC': 'kiwi', 'SPOOR_POLICY': 'best-frist'}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "runspider", str(spider), "-L", "ERROR"],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("spoor: unknown policy 'best-frist' (did you mean 'best-first'?)")
    assert len(done.stderr.splitlines()) == 1
