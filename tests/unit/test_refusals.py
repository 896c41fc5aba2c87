"""What is sent in place of a document is told from documents."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import numpy as np
import pytest

from loopback import ADDRESS, MISSING, Asked, Loopback, page, reply
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.live.driver import HttpDriver
from spoor.live.refusing_hosts import RefusingHosts
from spoor.policies.breadth_first import BreadthFirst
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, Fetched, Link, Outcome, Page, Task
from spoor.web.page import parse
from spoor.web.refusals import LONGEST, refusal, refusal_of_error

DATA = Path(os.environ.get("SPOOR_DATA", Path(__file__).parents[3] / "shared" / "data"))
FORM = "<form><input name=u><input type='password' name=p><button>OK</button></form>"

PLACES: dict[str, list[str]] = {
    "challenge": [
        "<title>Just a moment...</title><h1>shop.example</h1><p>Verify you are human by completing "
        "the action below.<script>window._cf_chl_opt={}</script>",
        "<title>shop</title><p>Please enable JS<script src='https://ct.captcha-delivery.com/c.js'></script>",
        "<h1>Making sure you're not a bot!</h1><p>Loading",
        "<h1>Einen Moment</h1><p>Bitte bestätigen Sie, dass Sie ein Mensch sind.",
        "<p>Veuillez confirmer que vous n'êtes pas un robot.",
        "<title>人机验证</title><p>请完成安全验证",
        "<p>Подтвердите, что вы не робот",
    ],
    "blocked": [
        "<title>Access Denied</title><h1>Access Denied</h1><p>You don't have permission to access "
        "this on this server.<p>Reference #18.2d3c",
        "<h1>Sorry, you have been blocked</h1>",
        "<title>Zugriff verweigert</title>",
        "<h1>Acceso denegado</h1>",
        "<h1>403 Forbidden</h1><hr>nginx",
    ],
    "rate": [
        "<h1>Too Many Requests</h1><p>Slow down.",
        "<h1>Zu viele Anfragen</h1>",
        "访问过于频繁",
    ],
    "consent": [
        "<title>Before you continue to Search</title><p>We use cookies and data to deliver our "
        "services.<button>Reject all</button><button>Accept all</button>",
        "<h1>Ihre Privatsphäre ist uns wichtig</h1><p>Wir und unsere 834 Partner verwenden Cookies."
        "<button>Alle akzeptieren</button>",
    ],
    "login": [
        f"<title>Log In ‹ Wiki — WordPress</title>{FORM}",
        f"<h1>Anmelden</h1>{FORM}",
        f"<title>ログイン</title>{FORM}",
    ],
    "javascript": [
        "<title>App</title><noscript>You need to enable JavaScript to run this app.</noscript>"
        "<div id=root></div><script src=/main.js></script>",
        "<noscript>Bitte aktivieren Sie JavaScript.</noscript><script src=a.js></script>",
    ],
    "missing": [
        "<title>404: Not Found</title><p>Nothing here.",
        "<title>Page not found | Kilns</title><p>Sorry.",
        "<h1>Seite nicht gefunden</h1><p>Die Seite gibt es nicht.",
        "<title>Página no encontrada - Hornos</title>",
        "<h1>ページが見つかりません</h1>",
    ],
}
WORDS = "<p>" + "A kiln is a thermally insulated chamber, a type of oven. " * 30
DOCUMENTS = [
    # What is written of all this, and what has some of it.
    f"<title>404 Not Found - HTTP | Reference</title><h1>404 Not Found</h1>{WORDS}",
    f"<title>How to verify you are human</title>{WORDS}<script>_cf_chl_opt</script>",
    f"<title>Log in to the kiln</title>{WORDS}{FORM}",
    "<title>Page found</title><p>A short page on clay.",
    "<title>Access control lists</title><p>When access is granted, and when it is not.",
    "<title>Lost and not found: a novel</title><p>By nobody.",
    "<title>Rate limiting in nginx</title><p>Answers 429 to whoever asks too often.",
    "<title>Contact</title><p>Write to us.<script src='https://www.google.com/recaptcha/api.js'>"
    "</script><p>" + "Our office is open on weekdays, and the kiln at night. " * 6,
    "<title>Clay</title><noscript>Enable JavaScript to search.</noscript><script></script><p>"
    + "Clay is a type of fine-grained natural soil material. " * 8,
    "<title>Clay</title><p>Short." + "".join(f"<a href=/{n}>clay {n}</a>" for n in range(8)),
    # An empty list of a tracker, with a log-in box beside its menu.
    f"<title>Open issues</title>{FORM}<p>Log in to see more."
    + "".join(f"<a href=/{n}>by {n}</a>" for n in range(12)),
    "<title>Cookies</title><p>This recipe asks for butter and sugar; accept no margarine.",
]


@pytest.mark.parametrize(
    ("name", "source"), [(name, one) for name, several in PLACES.items() for one in several]
)
def test_what_is_sent_in_place_of_a_document(name: str, source: str) -> None:
    found = refusal(parse(source.encode(), "http://a.example/"), {}, source.encode())
    assert found is not None
    assert found.name == name
    # The same among the words of a document is one.
    whole = f"{source}{WORDS}"
    assert len(parse(whole.encode(), "http://a.example/").text) > LONGEST
    assert refusal(parse(whole.encode(), "http://a.example/"), {}, whole.encode()) is None


@pytest.mark.parametrize("source", DOCUMENTS)
def test_documents_are_documents(source: str) -> None:
    assert refusal(parse(source.encode(), "http://a.example/"), {}, source.encode()) is None


@pytest.mark.parametrize("piece", ["<noscript>", "<noscript><<", "<input ", "<", "<script", "404 "])
def test_what_is_written_to_take_long_does_not(piece: str) -> None:
    body = (piece * (1 << 18))[: 1 << 18].encode()
    page = Page("http://a.example/", title=piece * 100, text="javascript " * 20)
    began = time.process_time()
    refusal(page, {}, body)
    assert time.process_time() - began < 0.5


def test_errors_of_a_service_before_the_site() -> None:
    mark = b"<script src=/cdn-cgi/challenge-platform/h/b/x.js>"
    assert refusal_of_error(403, {"cf-mitigated": "challenge"}, b"") is not None
    assert refusal_of_error(503, {}, mark) is not None
    assert refusal_of_error(503, {"retry-after": "9"}, mark) is None
    assert refusal_of_error(404, {}, mark) is None
    assert refusal_of_error(403, {}, b"no") is None


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "webkb").exists(), reason="needs webkb of SPOOR_DATA")
def test_hardly_any_recorded_page_is_taken_for_another() -> None:
    """Of WebKB's pages: 0 of 8,281 (all recorded webs: `benchmarks/refusals.py`)."""
    import json

    from spoor.compression import zstd

    found, many = [], 0
    with zstd.open(DATA / "webkb" / "pages.jsonl.zst", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            body = row["html"].encode()
            if len(body) > 4_000 or many == 1_500:
                continue
            many += 1
            if refusal(parse(body, row["url"]), {}, body) is not None:
                found.append(row["url"])
    assert len(found) <= many / 1_000, found


@pytest.mark.server
def test_a_crawl_neither_judges_nor_keeps_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []

    class Watched(Keywords):
        def judge(self, page):  # type: ignore[no-untyped-def]
            judged.append(page.url)
            return super().judge(page)

    names = list(PLACES)

    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return MISSING
        if asked.path == "/":
            return page(*(f"/{name}" for name in names), text="<p>clay")
        return reply(PLACES[asked.path[1:]][0])

    ended: dict[str, Failed] = {}
    deferred: list[str] = []

    def step(fetch: Fetch, done: Outcome | Deferred) -> None:
        if isinstance(done, Deferred):
            deferred.append(fetch.url)
        elif isinstance(done.reply, Failed):
            ended[fetch.url.rpartition("/")[2]] = done.reply

    async def go(**given: object) -> Crawl:
        server = Loopback(answer)
        async with server.serving():
            policy = BreadthFirst(Task(np.random.default_rng(0)))
            crawl = Crawl(policy, Watched(["clay"]), MemoryFrontier(), attempts=2, backoff=0.01)
            crawl.seed(["http://a.example/"])
            told = Settings(connect_to=f"{ADDRESS}:{server.port}", per_host=9, **given)  # type: ignore[arg-type]
            monkeypatch.setattr("spoor.live.refusing_hosts.SLOWEST", 0.1)
            await HttpDriver(crawl, told, on_step=step).run()
        return crawl

    crawl = asyncio.run(go())
    assert judged == ["http://a.example/"]
    kinds = {name: reply.kind for name, reply in ended.items()}
    assert kinds == {
        **dict.fromkeys(("challenge", "blocked", "rate"), "refused"),
        **dict.fromkeys(("consent", "login", "javascript"), "gated"),
        "missing": "absent",
    }
    assert deferred == ["http://a.example/rate"], "only that may pass by itself"
    assert crawl.frontier.next_ready(0.0) is None
    crawl.frontier.add([Link("http://a.example/more")], -1, 0.0, 0)
    free_at = crawl.frontier.next_ready(0.0)
    assert free_at is not None
    assert free_at > 0.0, "the host is asked less"
    ended.clear()
    asyncio.run(go(refusals=True))
    assert not ended
    assert len(judged) == 2 + len(names)


def test_a_host_that_gives_pages_again_is_asked_as_before() -> None:
    frontier = MemoryFrontier(delay=0.5)
    frontier.add([Link(f"http://a.example/{n}") for n in range(20)], -1, 0.0, 0)
    refusing, now, gaps = RefusingHosts(frontier), 0.0, []
    for link, refused in enumerate([*[True] * 8, *[False] * 9]):
        frontier.take(link, now)
        reply = Failed(link, "refused") if refused else Fetched(link, Page("http://a.example/"))
        refusing.see("a.example", reply, now, url=f"http://a.example/{link}")
        frontier.settle(link, now)
        begin, now = now, frontier.next_ready(now) or now
        gaps.append(now - begin)
    slower = [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert gaps == pytest.approx([*slower, 30.0, 15.0, 7.5, 3.75, 1.875, 0.9375, 0.5, 0.5, 0.5])
