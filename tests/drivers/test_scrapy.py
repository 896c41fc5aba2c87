"""The Scrapy add-on: real crawls, each in a process of its own, of a site on loopback."""

from __future__ import annotations

import json
import pickle
import re
import tempfile
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scrapy
from scrapy.http import Response

from browsing import CHROMIUM
from forked import run_script
from spoor.crawl import Crawl
from spoor.crawl.crawl import FORMAT
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.integrations.scrapy.job import read_job
from spoor.integrations.scrapy.middleware import PageMiddleware
from spoor.integrations.scrapy.scheduler import Scheduler
from spoor.judges.topic import judge_of_topic, topic_of
from spoor.learn.state import read, write
from spoor.orderer import AT_ONCE
from spoor.registry import build
from spoor.simulation.replay import Replay
from spoor.types import Failed, Fetch, Fetched, Task
from spoor.web.page import parse

Reply = tuple[int, Mapping[str, str], str]

ADDON = {"ADDONS": {"spoor.integrations.scrapy.Addon": 500}, "SPOOR_TOPIC": "kiwi"}
QUICK: dict[str, Any] = {"DOWNLOAD_DELAY": 0, "SPOOR_BACKOFF": 0, "TELNETCONSOLE_ENABLED": False}

SCRIPT = """
import json, sys, time
import scrapy
from scrapy import Request, FormRequest, signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

ROOT, settings, told = sys.argv[1], json.loads(sys.argv[2]), {"seen": [], "items": []}

class Walk(scrapy.Spider):
    name = "walk"
    start_urls = [ROOT + "/"]
    links = LinkExtractor()
    def parse(self, response):
        visit = response.meta["spoor"]
        told["seen"].append([response.url, visit.judgement.score, visit.ticket])
        yield {"url": response.url}
        for link in self.links.extract_links(response):
            yield response.follow(link, errback=self.failed)
    def failed(self, failure):
        told["seen"].append([failure.request.url, repr(failure.value), None])

#SPIDER#

def over(spider, reason):
    told["reason"] = reason
    crawl = getattr(crawler.engine.scheduler, "crawl", None)
    if crawl is not None:
        told["in_flight"], told["open"] = crawl.in_flight, crawl.frontier.open_count
        told["learned"] = getattr(crawl.policy, "learned", None)

process = AsyncCrawlerProcess(settings)
crawler = process.create_crawler(Walk if "Mine" not in globals() else Mine)
crawler.signals.connect(over, signal=signals.spider_closed)
process.crawl(crawler)
process.start()
told["stats"] = {k: v for k, v in crawler.stats.get_stats().items() if isinstance(v, (int, str))}
print(json.dumps(told))
"""


@dataclass
class Site:
    """What a server answers, and what it was asked: (path, when)."""

    root: str = ""
    asked: list[tuple[str, float]] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    """Paths that were answered without what they were to wait for."""

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked if path != "/robots.txt"]


@contextmanager
def served(
    pages: Mapping[str, str | Reply | Iterator[Reply]],
    *,
    wait: threading.Event | None = None,
    mute: threading.Event | None = None,
    release: threading.Event | None = None,
) -> Iterator[Site]:
    """A site on loopback. robots.txt is answered when `wait` is set, and all else when `mute` is;
    `/release` sets `release`."""
    site = Site()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with lock:
                site.asked.append((self.path, time.monotonic()))
                found = pages.get(self.path, (404, {}, "nothing here"))
                if isinstance(found, Iterator):
                    found = next(found)
            event = wait if self.path == "/robots.txt" else mute
            if event is not None and not event.wait(100):
                site.late.append(self.path)
            if self.path == "/release" and release is not None:
                release.set()
            status, headers, text = (200, {}, found) if isinstance(found, str) else found
            body = text.encode()
            self.send_response(status)
            kind = "text/plain" if self.path.endswith(".txt") else "text/html; charset=utf-8"
            for name, value in {"Content-Type": kind, **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(body)

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.root = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run_scrapy(
    site: Site, spider: str = "", *, addon: bool = True, **settings: Any
) -> dict[str, Any]:
    """What a crawl in a process of its own told."""
    given = {**(ADDON if addon else {}), **QUICK, "LOG_LEVEL": "WARNING", **settings}
    with tempfile.TemporaryDirectory() as folder:
        # Scrapy reads the source of callbacks.
        script = Path(folder) / "project.py"
        script.write_text(SCRIPT.replace("#SPIDER#", textwrap.dedent(spider)), "utf-8")
        done = run_script(script, site.root, json.dumps(given))
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    told["log"] = done.stderr
    return told


def page(title: str, *links: str) -> str:
    """A page; a link is `path words of its anchor`."""
    items = "".join(
        f'<li><a href="{path}">{words}</a></li>'
        for path, _, words in (link.partition(" ") for link in links)
    )
    return f"<html><title>{title}</title><body><h1>{title}</h1><ul>{items}</ul></body></html>"


BIRDS = {
    "/": page("Birds", "/ducks ducks", "/owls owls", "/flightless flightless, as the kiwi", "/sea"),
    "/ducks": page("Ducks", "/mallard the mallard", "/owls owls", "/teal the teal"),
    "/owls": page("Owls", "/barn barn owl", "/ducks ducks", "/kakapo kakapo and kiwi at night"),
    "/flightless": page("Flightless", "/emu the emu", "/kiwi kiwi", "/ostrich ostrich", "/"),
    "/sea": page("Sea birds", "/gull gull", "/penguin penguin, no kiwi", "/missing gone"),
    "/mallard": page("Mallard", "/", "/brown-kiwi a friend of the kiwi"),
    "/teal": page("Teal"),
    "/barn": page("Barn owl", "/owls all owls"),
    "/kakapo": page("Kakapo"),
    "/emu": page("Emu", "/ostrich a kiwi, only larger"),
    "/kiwi": page("Kiwi", "/spotted-kiwi spotted kiwi", "/brown-kiwi brown kiwi"),
    "/ostrich": page("Ostrich"),
    "/gull": page("Gull"),
    "/penguin": page("Penguin"),
    "/spotted-kiwi": page("Spotted kiwi", "/kiwi the kiwi"),
    "/brown-kiwi": page("Brown kiwi"),
}


class Recorded:
    """The same site as a world."""

    def __init__(self, root: str, pages: Mapping[str, str]) -> None:
        self._root, self._pages = root, pages

    def answer(self, fetch: Fetch) -> Fetched | Failed:
        text = self._pages.get(fetch.url.removeprefix(self._root))
        if text is None:
            return Failed(fetch.ticket, "absent", status=404)
        return Fetched(fetch.ticket, parse(text.encode(), fetch.url, content_type="text/html"))


@pytest.mark.parametrize("policy", ["breadth-first", "best-first"])
def test_a_spider_walks_the_way_that_replay_does(policy: str) -> None:
    """One request at a time, the order is that of the same crawl over the same site in the lab."""
    with served(BIRDS) as site:
        told = run_scrapy(site, SPOOR_POLICY=policy)
        subject = topic_of("kiwi")
        crawl = Crawl(
            build("policies", policy, Task(np.random.default_rng(0), subject.topic)),
            judge_of_topic(subject),
            MemoryFrontier(per_host=1),
        )
        crawl.seed([f"{site.root}/"])
        replay = list(Replay(crawl, Recorded(site.root, BIRDS)))
        way = [crawl.frontier.url(outcome.choice.link) for outcome in replay]
        assert [site.root + path for path in site.paths] == way
    assert told["stats"]["spoor/pages"] == len(BIRDS) == crawl.counts.pages
    assert told["stats"]["spoor/failed"] == 1
    assert told["stats"]["spoor/relevant"] == crawl.counts.relevant >= 3
    assert told["stats"]["item_scraped_count"] == len(BIRDS)
    assert (told["reason"], told["in_flight"], told["open"]) == ("finished", 0, 0)
    scores = {
        outcome.page.url: outcome.judgement.score
        for outcome in replay
        if outcome.page is not None and outcome.judgement is not None
    }
    assert {url: score for url, score, ticket in told["seen"] if ticket is not None} == scores


def test_only_links_that_the_spider_follows_are_followed() -> None:
    spider = """
        class Mine(CrawlSpider):
            name = "mine"
            start_urls = [ROOT + "/"]
            rules = [Rule(LinkExtractor(deny="owls|ducks"), callback="item", follow=True)]
            def item(self, response):
                return {"url": response.url}
    """
    with served(BIRDS) as site:
        told = run_scrapy(site, spider)
        paths = set(site.paths)
    owlish = {"/owls", "/ducks", "/mallard", "/teal", "/barn", "/kakapo"}
    assert paths == set(BIRDS) - owlish | {"/missing"}
    assert told["stats"]["item_scraped_count"] == len(BIRDS) - len(owlish) - 1


def test_a_budget_of_pages_holds_and_closes_the_spider() -> None:
    with served(BIRDS) as site:
        told = run_scrapy(site, SPOOR_PAGES=5, CONCURRENT_REQUESTS_PER_DOMAIN=8)
        assert len(site.paths) == 5
    assert told["reason"] == "spoor_pages"
    assert told["stats"]["spoor/pages"] == 5


# -- robots.txt

TWELVE = """
    class Mine(scrapy.Spider):
        name = "mine"
        start_urls = [ROOT + f"/{n}" for n in range(12)] + [settings["OTHER"] + "/release"]
        def parse(self, response):
            pass
"""


@pytest.mark.parametrize("addon", [False, True], ids=["stock", "spoor"])
def test_no_request_passes_while_the_rules_are_unknown(addon: bool) -> None:
    """12 start URLs on a site that disallows everything. All wait for its robots.txt, which is
    answered when another site has been asked. Scrapy's own middleware lets most pass."""
    known = threading.Event()
    pages = {f"/{number}": page("secret") for number in range(12)}
    forbidden = {"/robots.txt": "User-agent: *\nDisallow: /\n", **pages}
    with (
        served(forbidden, wait=known) as site,
        served({"/release": page("go on")}, release=known) as other,
    ):
        told = run_scrapy(
            site,
            TWELVE,
            addon=addon,
            OTHER=other.root,
            ROBOTSTXT_OBEY=True,
            CONCURRENT_REQUESTS=32,
            CONCURRENT_REQUESTS_PER_DOMAIN=32,
        )
        assert known.is_set()
        fetched = len(site.paths)
        assert sum(path == "/robots.txt" for path, _ in site.asked) == 1
    if addon:
        assert fetched == 0
        assert told["stats"]["robotstxt/forbidden"] == 12
        assert told["stats"]["spoor/failed"] == 12
    else:
        assert fetched > 0, "Scrapy mended its middleware: ours may go"


def test_a_robots_txt_that_cannot_be_had_forbids_everything() -> None:
    broken: dict[str, str | Reply] = {**BIRDS, "/robots.txt": (500, {}, "out of order")}
    with served(broken) as site:
        told = run_scrapy(site, RETRY_ENABLED=False)
        assert site.paths == []
    assert told["stats"]["robotstxt/forbidden"] == 1


def test_crawl_delay_is_kept_and_an_idle_engine_is_woken() -> None:
    """Scrapy's engine asks a scheduler that had nothing again after 5 s only."""
    pages = {**BIRDS, "/robots.txt": "User-agent: *\nCrawl-delay: 1\n"}
    with served(pages) as site:
        run_scrapy(site, SPOOR_PAGES=4, SPOOR_POLICY="breadth-first")
        gaps = np.diff([when for _, when in site.asked])
    assert len(gaps) == 4
    # As the server sees them: one that arrives late shortens the next and lengthens its own.
    assert gaps.sum() >= 3
    assert np.median(gaps) < 5


# -- what comes back


def test_redirects_and_retries_keep_their_ticket() -> None:
    pages: dict[str, str | Reply | Iterator[Reply]] = {
        "/": page("Root", "/moved moved", "/again again", "/round round", "/twice twice"),
        "/moved": (302, {"Location": "/hop"}, ""),
        "/hop": (301, {"Location": "/target"}, ""),
        "/target": page("Target kiwi"),
        "/again": iter([(503, {}, "busy"), (503, {}, "busy"), (200, {}, page("At last"))]),
        "/round": (302, {"Location": "/round"}, ""),
        "/twice": (302, {"Location": "/target"}, ""),
    }
    with served(pages) as site:
        told = run_scrapy(site, SPOOR_POLICY="breadth-first")
        asked = site.paths
    assert sorted(asked) == sorted(
        ["/", "/moved", "/hop", "/target", "/again", "/again", "/again", "/round", "/twice"]
    )
    # /round leads to itself and /twice to a page known already: failures of their own tickets.
    assert told["stats"]["spoor/pages"] == 3
    assert told["stats"]["spoor/failed"] == 2
    assert [ticket for *_, ticket in told["seen"]] == [0, 1, 2]
    assert (told["in_flight"], told["open"]) == (0, 0)


def test_a_retry_that_never_succeeds_ends() -> None:
    with served({"/": (503, {}, "busy")}) as site:
        told = run_scrapy(site, RETRY_TIMES=3)
        assert len(site.paths) == 4
    assert told["stats"]["spoor/failed"] == 1
    assert told["in_flight"] == 0


ERRORS = """
    class Mine(scrapy.Spider):
        name = "mine"
        allowed_domains = ["127.0.0.1"]
        custom_settings = {"REDIRECT_MAX_TIMES": 2}
        async def start(self):
            for path in ("/gone", "/offsite", "/endless", "/raises"):
                yield Request(ROOT + path, errback=self.failed)
            yield Request("http://127.0.0.1:9/closed", errback=self.failed)
        def parse(self, response):
            told["seen"].append([response.url, response.meta["spoor"].judgement.score, None])
            if response.url.endswith("/raises"):
                yield response.follow("/before")
                raise RuntimeError("a spider with a fault")
        def failed(self, failure):
            told["seen"].append([failure.request.url, type(failure.value).__name__, None])
            # Copies hand on the meta of the request that failed, ticket included.
            name = failure.request.url.rpartition("/")[2]
            yield failure.request.replace(url=ROOT + "/after-" + name, dont_filter=True)
"""


def test_what_a_helper_reads_does_not_hold_the_loop() -> None:
    pages = {"/": page("Kilns", "/slow kilns", "/quick kilns"), "/quick": page("Kilns")}
    noted = """
    import threading
    from spoor.integrations.scrapy import scheduler as spoors

    told["read"], read = {}, spoors.page_of

    def page_of(response, *rest):
        here = threading.current_thread() is threading.main_thread()
        told["read"].setdefault(response.url.rpartition("/")[2], []).append(here)
        return read(response, *rest)

    spoors.page_of = page_of
    spoors.helper_of = lambda body, kind, url: "pages" if url.endswith("/slow") else ""
    """
    with served({**pages, "/slow": page("Kilns")}) as site:
        told = run_scrapy(site, noted)
    assert told["read"] == {"": [True], "slow": [False], "quick": [True]}
    assert len(told["seen"]) == 3
    assert "Traceback" not in told["log"]


def test_documents_that_are_read_take_no_place_of_requests() -> None:
    """One place, and a document that is read until a page of another host has come meanwhile."""
    quick = [f"/quick{number}" for number in range(9)]
    spider = """
    import threading
    from spoor.integrations.scrapy import scheduler as spoors

    told["meanwhile"], reading, came, read = [], threading.Event(), threading.Event(), spoors.page_of

    def page_of(response, *rest):
        if response.url.endswith("/slow"):
            reading.set()
            told["meanwhile"].append(came.wait(10))
        elif "/quick" in response.url and reading.is_set():
            came.set()
        return read(response, *rest)

    spoors.page_of = page_of
    spoors.helper_of = lambda body, kind, url: "pages" if url.endswith("/slow") else ""

    class Mine(Walk):
        def parse(self, response):
            yield from super().parse(response)
            if response.url == ROOT + "/":
                yield Request(ROOT.replace("127.0.0.1", "localhost") + "/slow")
    """
    pages = {"/": page("Kiwi", *(f"{path} owls" for path in quick))}
    with served({**pages, **dict.fromkeys([*quick, "/slow"], page("Kiwi"))}) as site:
        told = run_scrapy(site, spider, CONCURRENT_REQUESTS=1)
    assert site.paths[-1] != "/slow"
    assert told["meanwhile"] == [True]
    assert len(told["seen"]) == 11
    assert "Traceback" not in told["log"]


def test_errbacks_and_dropped_redirects_end_their_tickets() -> None:
    pages: dict[str, str | Reply] = {
        "/offsite": (302, {"Location": "http://elsewhere.invalid/"}, ""),
        "/endless": (302, {"Location": "/endless-2"}, ""),
        "/endless-2": (302, {"Location": "/endless-3"}, ""),
        "/endless-3": (302, {"Location": "/endless-4"}, ""),
        "/raises": page("Raises"),
        "/before": page("Before"),
        **{f"/after-{name}": page("After") for name in ("gone", "closed", "endless-3")},
    }
    with served(pages) as site:
        told = run_scrapy(site, ERRORS, RETRY_ENABLED=False, ROBOTSTXT_OBEY=False)
        paths = set(site.paths)
    assert paths == {*pages, "/gone"}
    kinds = {url.rpartition("/")[2]: kind for url, kind, _ in told["seen"] if isinstance(kind, str)}
    assert kinds["gone"] == "HttpError"
    assert kinds["endless-3"] == "IgnoreRequest"
    assert "Connect" in kinds["closed"]
    # Fetched: raises, before, and what the three errbacks asked for. Failed: gone, offsite,
    # endless and closed.
    assert told["stats"]["spoor/pages"] == 5
    assert told["stats"]["spoor/failed"] == 4
    assert (told["reason"], told["in_flight"]) == ("finished", 0)


def test_what_a_url_does_not_name_goes_past_the_crawl() -> None:
    spider = """
        class Mine(scrapy.Spider):
            name = "mine"
            async def start(self):
                yield FormRequest(ROOT + "/login", formdata={"user": "me"})
            def parse(self, response):
                visit = response.meta["spoor"]
                told["seen"].append([response.url, visit.judgement.score, visit.ticket])
                if visit.ticket is None and response.request.method == "POST":
                    yield Request(ROOT + "/page", meta=response.meta)
                elif visit.ticket is not None:
                    yield Request(ROOT + "/page", dont_filter=True, meta=response.meta)
                    yield Request(ROOT + "/page")
    """
    with served({"/login": page("Welcome"), "/page": page("Kiwi")}) as site:
        told = run_scrapy(site, spider)
        assert site.paths == ["/login", "/page", "/page"]
    assert [ticket for *_, ticket in told["seen"]] == [None, 0, None]
    assert [score > 0 for _, score, _ in told["seen"]] == [False, True, True]
    assert told["stats"]["spoor/pages"] == 1
    assert told["stats"]["dupefilter/filtered"] == 1


def test_what_is_sent_in_place_of_a_document_is_a_failure() -> None:
    """The spider gets it; the crawl neither judges it nor learns from it as a page."""
    spider = """
        class Mine(Walk):
            def parse(self, response):
                visit = response.meta["spoor"]
                told["seen"].append([response.url, visit.judgement is None,
                                     visit.refused and visit.refused.name])
                yield from response.follow_all(self.links.extract_links(response))
    """
    soft = page("Page not found")
    with served(
        {"/": page("Kiwi", "/a one kiwi", "/b another kiwi"), "/a": page("Kiwi bird"), "/b": soft}
    ) as site:
        told = run_scrapy(site, spider)
        taken = run_scrapy(site, spider, SPOOR_REFUSALS=True)
    refused = {url[len(site.root) :]: why for url, _, why in told["seen"]}
    assert refused == {"/": None, "/a": None, "/b": "missing"}
    assert [none for *_, none, _ in told["seen"]].count(True) == 1
    assert (told["stats"]["spoor/pages"], told["stats"]["spoor/failed"]) == (2, 1)
    assert taken["stats"]["spoor/pages"] == 3


def test_a_header_that_is_no_utf8_costs_no_page() -> None:
    """Old servers send Latin-1, in Content-Disposition for instance."""
    old = {"X-Note": "café"}
    pages: dict[str, Reply | str] = {
        "/": (200, old, page("Kiwi", "/a one kiwi")),
        "/a": (200, old, page("Kiwi bird")),
    }
    with served(pages) as site:
        told = run_scrapy(site)
    assert [url[len(site.root) :] for url, *_ in told["seen"]] == ["/", "/a"]
    assert told["stats"]["spoor/pages"] == 2
    assert "Traceback" not in told["log"]


def test_a_fault_of_ours_costs_the_spider_no_page(caplog: pytest.LogCaptureFixture) -> None:
    class Faulty(Scheduler):
        def __init__(self) -> None: ...

        def page_arrived(self, response: Response) -> None:
            raise RuntimeError("a fault of ours")

    crawler = SimpleNamespace(engine=SimpleNamespace(scheduler=Faulty()))
    PageMiddleware(crawler).process_spider_input(Response("http://kiwi.example/"))  # type: ignore[arg-type]
    assert "http://kiwi.example/ is not judged" in caplog.text


def test_a_judge_of_the_project_and_what_comes_of_its_fault() -> None:
    spider = """
        class Mine(Walk):
            def parse(self, response):
                yield from response.follow_all(self.links.extract_links(response))
    """
    with served(BIRDS) as site:
        wanted = run_scrapy(site, spider, SPOOR_TOPIC="", SPOOR_JUDGE="builtins.bool")
        faulty = run_scrapy(site, spider, SPOOR_JUDGE="json.loads")
    assert wanted["stats"]["spoor/relevant"] == len(BIRDS)
    assert faulty["reason"] == "spoor_fault"
    errors = [line for line in faulty["log"].splitlines() if "Function.judge raised" in line]
    assert len(errors) == 1
    assert "Traceback" not in faulty["log"]


def test_a_job_goes_on_where_it_was_paused(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"JOBDIR": str(tmp_path / "job"), "SPOOR_POLICY": "best-first"}
    with served(BIRDS) as site:
        first = run_scrapy(site, CLOSESPIDER_PAGECOUNT=6, **settings)
        before = list(site.paths)
        second = run_scrapy(site, **settings)
        paths = site.paths
    assert first["reason"] == "closespider_pagecount"
    assert 4 <= len(before) < len(BIRDS)
    # Start requests are not filtered: Scrapy asks for them again whenever a job goes on.
    assert sorted(paths) == sorted([*BIRDS, "/missing", "/"])
    assert second["stats"]["spoor/pages"] == len(BIRDS)
    saved = read(tmp_path / "job" / "spoor.state")
    assert saved["now"] > 1e9, "the clock goes on from there, wherever the machine's is then"
    with served(BIRDS) as site:
        other = run_scrapy(site, **settings | {"SPOOR_POLICY": "breadth-first"})
        assert site.paths == []
    assert other["reason"] == "spoor_input"
    assert "was begun with the policy 'best-first'" in other["log"]
    assert "Traceback" not in other["log"]


def test_a_form_is_sent_once_however_often_a_job_goes_on(tmp_path: Path) -> None:
    spider = """
        class Mine(scrapy.Spider):
            name = "mine"
            async def start(self):
                for number in range(9):
                    yield FormRequest(ROOT + "/order", formdata={"number": str(number)})
            def parse(self, response):
                pass
    """
    with served({"/order": page("Thank you")}) as site:
        for _ in range(2):
            run_scrapy(site, spider, JOBDIR=str(tmp_path / "job"))
        assert site.paths == ["/order"] * 9


def test_a_damaged_job_is_refused_in_one_line(tmp_path: Path) -> None:
    job, outside = tmp_path / "job", tmp_path / "outside"
    with served({"/": page("Kiwi")}) as site:
        run_scrapy(site, JOBDIR=str(job))
        saved = read(job / "spoor.state")
        requests = np.frombuffer(pickle.dumps(1), np.uint8)
        damages: list[dict[str, Any]] = [
            *({name: None} for name in ("policy", "requests", "seen", "known")),
            {"requests": requests},
            {"requests": requests[:1]},
        ]
        for damage in damages:
            write(job / "spoor.state", saved | damage)
            with pytest.raises(InputError):
                read_job(job, saved["policy"], scrapy.Spider("walk"))
        for damage in (damages[-1], {"crawl": {}}, {"crawl": {"format": FORMAT}}):
            write(job / "spoor.state", saved | damage)
            told = run_scrapy(site, JOBDIR=str(job))
            assert told["reason"] == "spoor_input", damage
            assert "Traceback" not in told["log"]
        write(job / "spoor.state", saved)
        outside.write_bytes(bytes(1_000))
        (job / "requests.seen").unlink()
        (job / "requests.seen").symlink_to(outside)
        assert run_scrapy(site, JOBDIR=str(job))["reason"] == "spoor_input"
        assert site.paths == ["/"]
    assert outside.read_bytes() == bytes(1_000)


@pytest.mark.parametrize("policy", ["best-first", "trail"])
def test_a_job_that_was_killed_goes_on_and_loses_nothing(tmp_path: Path, policy: str) -> None:
    """Dead at once, in the middle of a callback; then again. Scrapy's own queue would be empty."""
    spider = """
        import os, signal
        import spoor.integrations.scrapy.scheduler as scheduler
        scheduler.SAVE_SECONDS = 0.0
        scheduler.SAVE_SHARE = 1e9
        class Mine(Walk):
            def parse(self, response):
                for at, request in enumerate(super().parse(response)):
                    if at > 1 and 0 < self.settings.getint("DIE_AT") <= len(told["seen"]):
                        os.kill(os.getpid(), signal.SIGKILL)
                    yield request
    """
    settings: dict[str, Any] = {"JOBDIR": str(tmp_path / "job"), "SPOOR_POLICY": policy}
    with served(BIRDS) as site:
        for die_at in (3, 4):
            with pytest.raises(AssertionError):
                run_scrapy(site, spider, DIE_AT=die_at, **settings)
        before = len(site.paths)
        told = run_scrapy(site, spider, DIE_AT=0, **settings)
        paths = site.paths
    assert before >= 6
    assert set(paths) == {*BIRDS, "/missing"}
    again = Counter(paths)
    del again["/"]  # start requests are asked for whenever a job goes on
    assert sum(again.values()) - len(again) <= 2 * 2, "what was out, and what ended since"
    assert told["stats"]["spoor/pages"] == len(BIRDS)
    assert told["in_flight"] == told["open"] == 0


def test_a_scheduler_of_the_project_leaves_spoor_out() -> None:
    spider = """
        class Mine(Walk):
            def parse(self, response):
                told["seen"].append("spoor" in response.meta)
                yield from response.follow_all(self.links.extract_links(response))
    """
    with served(BIRDS) as site:
        told = run_scrapy(site, spider, SCHEDULER="scrapy.core.scheduler.Scheduler")
    assert len(told["seen"]) >= len(BIRDS)
    assert not any(told["seen"])
    assert "spoor/pages" not in told["stats"]


def test_feeds_of_the_project_are_written_as_before(tmp_path: Path) -> None:
    feeds = {
        str(tmp_path / "items.jsonl"): {"format": "jsonlines"},
        str(tmp_path / "items.csv"): {"format": "csv"},
    }
    with served(BIRDS) as site:
        told = run_scrapy(site, FEEDS=feeds)
    seen = [url for url, *_, ticket in told["seen"] if ticket is not None]
    assert len(seen) == len(BIRDS)
    lines = (tmp_path / "items.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [{"url": url} for url in seen]
    assert (tmp_path / "items.csv").read_text("utf-8").split() == ["url", *seen]


REAL = """<title>Birds</title><h1>Birds</h1><a href="mailto:me@birds.example">write</a>
<a href="javascript:void(0)">open</a><a href="tel:+123">call</a><a href="http://[::bad/">broken</a>
<a href="data:text/html,hi">data</a><a href="/kiwi">the kiwi</a><a href="/list.pdf">list</a>"""

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "scrapy.md"


def test_the_spider_of_the_guide_survives_real_pages() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    spider = f"""{code}
class Mine(Walk):
    name = "mine"
    allowed_domains = ["127.0.0.1"]
    start_urls = [ROOT + "/"]
    links = LinkExtractor(deny_extensions=[])
    def parse(self, response):
        told["seen"].append(response.url)
        yield from super().parse(response)
"""
    pages: dict[str, str | Reply | Iterator[Reply]] = {
        "/": REAL,
        "/kiwi": page("The kiwi"),
        "/list.pdf": (200, {"Content-Type": "application/pdf"}, "%PDF-1.4 broken"),
        "/robots.txt": (404, {}, ""),
    }
    with served(pages) as site:
        told = run_scrapy(site, spider)
        assert sorted(told["seen"]) == [
            f"{site.root}{path}" for path in ("/", "/kiwi", "/list.pdf")
        ]
    assert told["reason"] == "finished"
    assert "Traceback" not in told["log"]


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_browser_fetches_in_our_order_and_a_job_goes_on(tmp_path: Path) -> None:
    """With scrapy-playwright: links that a script writes are followed, and a pause loses nothing."""
    spider = """
    class Mine(Walk):
        def start_requests(self):
            yield Request(self.start_urls[0], meta={"playwright": True})
        async def start(self):
            for request in self.start_requests():
                yield request
        def parse(self, response):
            told["seen"].append([response.url, response.meta["spoor"].judgement.score])
            for link in self.links.extract_links(response):
                yield response.follow(link, meta={"playwright": True})
    """
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    settings: dict[str, Any] = {
        "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
        "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": CHROMIUM, "args": ["--no-sandbox"]},
        "JOBDIR": str(tmp_path / "job"),
        "SPOOR_POLICY": "best-first",
    }
    script = """<title>Birds</title><script>
    for (const path of ["kiwi-1", "owl-1", "kiwi-2", "owl-2"])
        document.write(`<p><a href="/${path}">${path}</a></p>`)</script>"""
    pages: dict[str, str | Reply | Iterator[Reply]] = {
        "/": script,
        **{f"/kiwi-{n}": page("kiwi kiwi") for n in (1, 2)},
        **{f"/owl-{n}": page("owl") for n in (1, 2)},
        "/robots.txt": (404, {}, ""),
    }
    with served(pages) as site:
        first = run_scrapy(site, spider, CLOSESPIDER_PAGECOUNT=2, CONCURRENT_REQUESTS=1, **settings)
        second = run_scrapy(site, spider, **settings)
        paths = [url.removeprefix(site.root) for url, _ in first["seen"] + second["seen"]]
    assert set(paths) == {"/", "/kiwi-1", "/kiwi-2", "/owl-1", "/owl-2"}
    assert len(first["seen"]) < 5
    assert paths[1].startswith("/kiwi")
    assert second["reason"] == "finished"


def test_a_redirect_does_not_leave_the_scope() -> None:
    pages: dict[str, str | Reply | Iterator[Reply]] = {
        "/": page("Root", "/in in", "/out out", "/refreshed refreshed"),
        "/in": (302, {"Location": "/target"}, ""),
        "/target": page("Target"),
        "/elsewhere": page("Elsewhere"),
        "/refreshed": '<meta http-equiv="refresh" content="0; url=/private">',
        "/private": page("Private"),
    }
    with served(pages) as site:
        pages["/out"] = (
            302,
            {"Location": f"{site.root}/elsewhere".replace("127.0.0.1", "localhost")},
            "",
        )
        told = run_scrapy(site, SPOOR_SCOPE="host", SPOOR_EXCLUDE=["*/private"])
        asked = site.paths
    assert sorted(asked) == ["/", "/in", "/out", "/refreshed", "/target"]
    assert told["stats"]["spoor/failed"] == 2


def test_no_page_and_no_redirect_leads_out_of_the_scope_past_the_crawl() -> None:
    """By URLs that are no page's (a file, one without end), and behind forms and repeats."""
    endless = "a" * 9_000
    pages: dict[str, str | Reply | Iterator[Reply]] = {
        "/": page("Root", "/again again", "file:///etc/hostname a file"),
        "/long": (302, {"Location": f"/in?{endless}"}, ""),
        "/elsewhere": page("Elsewhere", "/more more"),
        "/more": page("More"),
    }
    spider = """
        class Mine(Walk):
            def parse(self, response):
                told["seen"].append([response.url, None, None])
                for link in self.links.extract_links(response):
                    yield response.follow(link)
                if response.url == ROOT + "/":
                    yield Request(ROOT + "/form", method="POST", body=b"q=1")
                    yield Request(ROOT.replace("127.0.0.1", "localhost"), method="POST")
                    yield Request(ROOT + "/out")
                    yield Request(ROOT + "/long")
                    yield Request(ROOT + "/", dont_filter=True, callback=self.repeated)
            def repeated(self, response):
                told["seen"].append([response.url, None, None])
    """
    with served(pages) as site:
        stranger = site.root.replace("127.0.0.1", "localhost")
        pages["/out"] = (302, {"Location": f"{stranger}/elsewhere?{endless}"}, "")
        pages["/form"] = pages["/again"] = (302, {"Location": f"{stranger}/elsewhere"}, "")
        root = pages["/"]
        pages["/"] = iter([(200, {}, str(root)), (302, {"Location": f"{stranger}/elsewhere"}, "")])
        told = run_scrapy(site, spider, SPOOR_SCOPE="host")
        asked = site.paths
    assert sorted(asked) == ["/", "/", "/again", "/form", "/long", "/out"]
    assert [url for url, *_ in told["seen"]] == [f"{site.root}/"]
    stats = told["stats"]
    assert stats["scheduler/left_out/no URL of a page"] == 3
    assert stats["scheduler/left_out/--scope host"] == 3  # two redirects and a form


def test_a_form_of_the_spider_goes_where_it_says() -> None:
    spider = """
        class Mine(Walk):
            def parse(self, response):
                told["seen"].append([response.url, None, None])
                if response.url == ROOT + "/":
                    to = ROOT.replace("127.0.0.1", "localhost") + "/log-in"
                    yield Request(to, method="POST", dont_filter=True)
    """
    pages: dict[str, str | Reply | Iterator[Reply]] = {"/": page("Root"), "/mine": page("Mine")}
    with served(pages) as site:
        pages["/log-in"] = iter(
            [(503, {}, "later"), (302, {"Location": f"{site.root}/mine"}, ""), (404, {}, "")]
        )
        told = run_scrapy(site, spider, SPOOR_SCOPE="host")
        asked = site.paths
    assert asked == ["/", "/log-in", "/log-in", "/mine"]
    assert told["seen"][1][0] == f"{site.root}/mine"


def test_of_a_robots_txt_without_end_the_first_500_kib_are_read() -> None:
    rules = "User-agent: *\nDisallow: /secret\n" + "#" * 600_000 + "\nUser-agent: *\nDisallow: /\n"
    pages: dict[str, str | Reply | Iterator[Reply]] = {
        "/robots.txt": rules,
        "/": page("Root", "/secret secret", "/kiwi kiwi"),
        "/kiwi": page("Kiwi"),
        "/secret": page("Secret"),
    }
    with served(pages) as site:
        run_scrapy(site)
        asked = site.paths
        pages["/robots.txt"] = "#" * 9_000_000
        run_scrapy(site)
    assert asked == ["/", "/kiwi"]
    assert site.paths == asked  # it could not be had, so nothing is allowed


MUTE = """
from spoor.integrations.scrapy import robots

robots.MOST_AWAITED, robots.PATIENCE, robots.TRIES = 2, 0.05, 8

class Mine(Walk):
    custom_settings = {"SPOOR_SCOPE": "anywhere"}
    def parse(self, response):
        yield from super().parse(response)
        if response.url == ROOT + "/":
            for root in self.settings["MUTE"]:
                yield Request(root + "/", errback=self.failed)
"""
MUTE_PAGES = MUTE.replace(
    "robots.MOST_AWAITED, robots.PATIENCE, robots.TRIES = 2, 0.05, 8",
    "from spoor.politeness import request_slots as slots\n"
    "slots.FIRST_PATIENCE, slots.FIRST_CHANCE = 0.05, 0.1\n"
    "slots.slow_places = lambda limit: 2 * limit",
)


@pytest.mark.parametrize(("kind", "spider"), [("wait", MUTE), ("mute", MUTE_PAGES)])
def test_hosts_that_do_not_answer_take_no_place_of_others(kind: str, spider: str) -> None:
    """Twelve that give no robots.txt, or no page, and four places: their answers come once all
    pages of another site have."""
    steps = [f"/{number}" for number in range(20)]
    ways = dict(zip(["/", *steps], [*steps, "/release"], strict=True))
    pages = {path: page("Owls", f"{target} on") for path, target in ways.items()}
    known = threading.Event()
    with ExitStack() as stack:
        site = stack.enter_context(served({**pages, "/release": page("Owls")}, release=known))
        owl = partial(served, {"/": page("Owl")}, **{kind: known})
        mute = [stack.enter_context(owl()) for _ in range(12)]
        told = run_scrapy(
            site,
            spider,
            MUTE=[one.root for one in mute],
            CONCURRENT_REQUESTS=4,
            DOWNLOAD_TIMEOUT=120,
            CONCURRENT_REQUESTS_PER_DOMAIN=64,
            SPOOR_POLICY="breadth-first",
        )
        assert known.is_set()
        assert site.paths[-1] == "/release"
        assert not [one for one in mute if one.late]
        assert {one.paths[0] for one in mute} == {"/"}
        if kind == "wait":
            assert {len(one.paths) for one in mute} == {1}
    assert len({url for url, *_ in told["seen"]}) == 34
    assert "Traceback" not in told["log"]


def test_thousands_of_links_of_a_page_enter_in_slices(tmp_path: Path) -> None:
    """Between two slices others have the loop, and a job that is written meanwhile loses none."""
    many = 3_200
    spider = """
        import asyncio
        from spoor.crawl.crawl import Crawl
        from spoor.frontier.memory import MemoryFrontier

        beats, add, told["added"] = [0], MemoryFrontier.add, []

        def adds(self, links, *rest):
            told["added"].append([len(links), beats[0]])
            return add(self, links, *rest)

        MemoryFrontier.add = adds

        async def beat():
            while True:
                beats[0] += 1
                await asyncio.sleep(0)

        class Mine(Walk):
            async def start(self):
                self.beat = asyncio.ensure_future(beat())
                yield Request(ROOT + "/", dont_filter=True)
            def parse(self, response):
                self.beat.cancel() if response.url != ROOT + "/" else None
                told["seen"].append(response.url)
                if response.url == ROOT + "/" and self.settings.getbool("FIRST"):
                    for number in range(3_200):
                        yield response.follow(f"/p{number}", meta={"link_text": "kiwi " * 1_000})
    """
    job: dict[str, Any] = {"JOBDIR": str(tmp_path / "job"), "LOG_LEVEL": "ERROR"}
    pages = {"/": page("Kiwis"), **{f"/p{number}": page("Kiwi") for number in range(many)}}
    with served(pages) as site:
        told = run_scrapy(site, spider, FIRST=1, CLOSESPIDER_PAGECOUNT=5, **job)
        slices = [row for row in told["added"] if row[0] > 1]
        assert max(links for links, _ in slices[:-1]) <= AT_ONCE
        assert told["open"] + len(told["seen"]) + told["in_flight"] >= many
        rest = run_scrapy(site, spider, FIRST=0, SPOOR_PAGES=40, **job)
    assert rest["open"] > many - 100
    assert rest["reason"] == "spoor_pages"
    # All that was closed before they had entered entered then, at once.
    beats = [beat for links, beat in slices if links == AT_ONCE]
    assert len(set(beats)) > 1
