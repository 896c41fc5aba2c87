"""A world over HTTP: hosts by name, faults as asked for, recorded pages as they were."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.errors import InputError
from spoor.http.world_server import Faults, Server, rebuild, serving
from spoor.types import Anchor, Failed, Fetched, Link, Page, Recording, Redirected
from spoor.web.page import parse
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld
from spoor.worlds.recorded import RecordedWorld
from spoor.worlds.store_rows import pack
from spoor.worlds.store_writer import Writer

pytestmark = pytest.mark.server

A = "http://a.example"
WORLD = GeneratedWorld(GeneratedSettings(pages=50, hosts=3, seed=1))
HOME = Page(
    f"{A}/",
    title="A & <B>",
    headings=("First", "Second"),
    text="words of the page",
    links=(
        Link(f"{A}/b?x=1&y=2", Anchor("to <b>", "just before", "just after", ("First",))),
        Link("http://c.example/", Anchor("elsewhere", position=1, nofollow=True)),
    ),
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RecordedWorld:
    folder = tmp_path_factory.mktemp("webs") / "web"
    paper = Page(f"{A}/paper.pdf", content_type="application/pdf", flags=frozenset({"not-html"}))
    with Writer(folder) as writer:
        for recording in (
            Recording(HOME.url, Fetched(0, HOME, size=9)),
            Recording(f"{A}/b?x=1&y=2", Fetched(0, Page(f"{A}/b?x=1&y=2", title="B"), size=1)),
            Recording(f"{A}/old", Redirected(0, HOME.url, 301)),
            Recording(f"{A}/gone", Failed(0, "http", "status 410", 410)),
            Recording(paper.url, Fetched(0, paper, size=1)),
        ):
            writer.add(pack(recording))
    return RecordedWorld(folder, absent=True)


Get = Callable[[str], Awaitable[tuple[int, bytes, dict[str, str]]]]


def served(server: Server, work: Callable[[Get], Awaitable[None]]) -> None:
    """Run some requests, each by URL: its host goes into the Host header."""

    async def go() -> None:
        async with serving(server) as port, aiohttp.ClientSession() as session:

            async def get(url: str) -> tuple[int, bytes, dict[str, str]]:
                host, _, path = url.removeprefix("http://").partition("/")
                host = host.replace("PORT", str(port))
                async with session.get(
                    f"http://127.0.0.1:{port}/{path}",
                    headers={"Host": host},
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(total=20),
                ) as reply:
                    return reply.status, await reply.read(), dict(reply.headers)

            await work(get)

    asyncio.run(go())


def generated(url: str) -> str | None:
    found = WORLD.document(url)
    return None if found is None else found[1]


def test_a_generated_web_is_served_as_it_is() -> None:
    async def work(get: Get) -> None:
        for number in (0, 1, 2, 20, 49):
            url = WORLD.url_of(number)
            status, body, headers = await get(url)
            assert (status, body.decode()) == (200, WORLD.html_of(number))
            assert headers["Content-Type"] == "text/html; charset=utf-8"
            with_port = url.replace(".example/", ".example:PORT/")
            assert (await get(with_port))[1] == body, "a port of our own is left out"
        assert (await get("http://alder.example/nothing"))[0] == 404
        assert (await get("http://nobody.example/"))[0] == 404

    served(Server(WORLD, source=generated), work)


def test_a_recorded_web_is_served_as_it_was(recorded: RecordedWorld) -> None:
    async def work(get: Get) -> None:
        status, body, _ = await get(f"{A}/")
        assert status == 200
        page = parse(body, f"{A}/", content_type="text/html; charset=utf-8")
        assert [link.url for link in page.links] == [link.url for link in HOME.links]
        status, _, headers = await get(f"{A}/old")
        assert (status, headers["Location"]) == (301, f"{A}/")
        assert (await get(f"{A}/gone"))[0] == 410
        assert (await get(f"{A}/never"))[0] == 404
        assert (await get(f"{A}/paper.pdf"))[2]["Content-Type"].startswith("application/pdf")

    served(Server(recorded), work)


def test_the_server_itself_lists_the_roots() -> None:
    async def work(get: Get) -> None:
        for host in ("127.0.0.1:PORT", "localhost:PORT"):
            _, body, _ = await get(f"http://{host}/")
            assert b'<a href="http://a.example/?x=1&amp;y=2">' in body
            assert b"<script>" not in body

    served(Server(WORLD, source=generated, roots=["http://a.example/?x=1&y=2", "<script>"]), work)


def test_robots_txt_holds_for_every_host() -> None:
    rules = "User-agent: *\nDisallow: /x\n"

    async def work(get: Get) -> None:
        assert (await get("http://alder.example/robots.txt"))[:2] == (200, rules.encode())
        assert (await get("http://ash.example/robots.txt"))[:2] == (200, rules.encode())

    async def none(get: Get) -> None:
        assert (await get("http://alder.example/robots.txt"))[0] == 404

    served(Server(WORLD, source=generated, robots=rules), work)
    served(Server(WORLD, source=generated), none)


@pytest.mark.parametrize("kind", ["404", "500", "429"])
def test_a_fault_answers_every_time_alike(kind: str) -> None:
    server = Server(WORLD, source=generated, faults=Faults({kind: 0.4}))
    urls = [WORLD.url_of(number) for number in range(50)]

    async def work(get: Get) -> None:
        first = [(await get(url))[0] for url in urls]
        assert first == [(await get(url))[0] for url in urls]
        assert first == [int(kind) if server._faults.of(url) else 200 for url in urls]
        assert 5 < first.count(int(kind)) < 40
        for url in urls:
            status, _, headers = await get(url)
            assert ("Retry-After" in headers) == (status == 429)

    served(server, work)
    assert server.requests == 150


def test_a_reset_breaks_the_connection() -> None:
    async def work(get: Get) -> None:
        with pytest.raises(aiohttp.ClientConnectionError):
            await get(WORLD.url_of(0))

    served(Server(WORLD, source=generated, faults=Faults({"reset": 1.0})), work)


@given(st.text(max_size=50))
def test_a_fault_depends_on_the_url_alone(url: str) -> None:
    faults = Faults({"404": 0.3, "500": 0.3})
    assert faults.of(url) == faults.of(url)
    assert faults.of(url) in ("", "404", "500")
    assert Faults().of(url) == ""
    assert Faults({"slow": 1.0}).of(url) == "slow"


def test_shares_of_faults_are_met() -> None:
    faults = Faults.parse("404=0.1, 500=0.05,slow=0.2")
    counts = Counter(faults.of(f"{A}/{number}") for number in range(4000))
    for kind, share in (("404", 0.1), ("500", 0.05), ("slow", 0.2), ("", 0.65)):
        assert counts[kind] / 4000 == pytest.approx(share, abs=0.025)


@pytest.mark.parametrize("text", ["418=1", "404", "404=x", "404=1.5", "404=-1", "404=nan", "=1"])
def test_faults_that_there_are_not(text: str) -> None:
    with pytest.raises(InputError, match="is not KIND=SHARE"):
        Faults.parse(text)


def test_no_faults() -> None:
    assert Faults.parse("").shares == Faults.parse(" , ").shares == {}


@pytest.fixture
def taken() -> Iterator[int]:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_only_loopback_is_bound(taken: int) -> None:
    async def go(address: str, port: int) -> None:
        async with serving(Server(WORLD), address=address, port=port):
            raise AssertionError("it must not get here")

    for address in ("0.0.0.0", "192.0.2.1", "::"):
        with pytest.raises(InputError, match="is not a loopback address"):
            asyncio.run(go(address, 0))
    with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1:{taken}"):
        asyncio.run(go("127.0.0.1", taken))


def test_a_rebuilt_page_holds_what_was_recorded() -> None:
    page = parse(rebuild(HOME).encode(), HOME.url, content_type="text/html; charset=utf-8")
    assert page.title == HOME.title
    assert page.headings[0] == "First"
    assert "words of the page" in page.text
    first, second = page.links
    assert (first.url, first.anchor.text) == (HOME.links[0].url, "to <b>")
    assert first.anchor.before.endswith("just before")
    assert first.anchor.after.startswith("just after")
    assert first.anchor.headings == ("First",)
    assert second.anchor.nofollow


@given(
    st.lists(
        st.tuples(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20)), max_size=6
    ),
    st.text(max_size=60),
    st.text(max_size=20),
)
def test_nothing_recorded_breaks_out_of_a_rebuilt_page(
    anchors: list[tuple[str, str, str]], text: str, title: str
) -> None:
    links = tuple(
        Link(f"{A}/{at}", Anchor(words, before, after, position=at))
        for at, (words, before, after) in enumerate(anchors)
    )
    source = rebuild(Page(f"{A}/", title=title, text=text, links=links))
    page = parse(
        source.encode("utf-8", "replace"), f"{A}/", content_type="text/html; charset=utf-8"
    )
    assert [link.url for link in page.links] == [link.url for link in links]


def test_a_web_of_https_pages_is_served_over_http(tmp_path: Path) -> None:
    home = "https://s.example/"
    page = Page(home, title="S", links=(Link(f"{home}b", Anchor("B")),))
    with Writer(tmp_path / "web") as writer:
        writer.add(pack(Recording(home, Fetched(0, page, size=1))))
        writer.add(pack(Recording(f"{home}old", Redirected(0, home, 301))))
    server = Server(RecordedWorld(tmp_path / "web", absent=True), roots=[home])

    async def work(get: Get) -> None:
        status, body, _ = await get("http://s.example/")
        assert status == 200
        assert b'href="http://s.example/b"' in body
        status, _, headers = await get("http://s.example/old")
        assert status == 301
        assert headers["Location"] == "http://s.example/"
        _, index, _ = await get("http://127.0.0.1/")
        assert b"http://s.example/" in index

    served(server, work)
