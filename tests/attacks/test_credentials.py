"""What a user gives to be known by goes to the hosts that it belongs to, and nowhere else: not after a
redirect, to a subdomain, to another port, to a name that looks alike, in the clear, or into a file."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import ssl
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from http.cookies import SimpleCookie
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard
from yarl import URL

from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from spoor.errors import InputError
from spoor.http.address_guard import AddressGuard
from spoor.http.client import Client
from spoor.http.cookies import MOST_SENT, Cookies
from spoor.http.credentials import Credentials
from spoor.live.live_crawl import LiveCrawl
from spoor.runs import files
from spoor.runs.assemble import make_crawl
from spoor.runs.reader import Run
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.views.html import write_report
from spoor.web.urls import canonical

HEADER, PASSWORD, TOKEN, COOKIE, WIDE, SESSION = (f"sesame-{n}-Xq7" for n in range(6))
BASIC = base64.b64encode(f"anna:{PASSWORD}".encode()).decode()
SECRETS = (HEADER, PASSWORD, TOKEN, COOKIE, WIDE, SESSION, BASIC)

HOSTILE = (
    "http://sub.a.example/",
    "http://a.example.evil.example/",
    "http://evil-a.example/",
    "http://a.example:8080/",
    "http://A.EXAMPLE:81/",
    "http://b.example/",
    "http://sub.c.example/deep",
    "http://notc.example/",
    "http://evil.example/",
)


def answer(asked: Asked) -> bytes:
    """A site that sends who asks to everybody, and sets cookies for everybody."""
    if asked.path == "/robots.txt":
        return MISSING
    if asked.path == "/":
        links = [f"/to/{number}" for number in range(len(HOSTILE))]
        whole = page("/second", *links, *HOSTILE, text="<p>clay")
        sets = [
            f"sid={SESSION}",
            f"wide={SESSION}; Domain=example",
            f"other={SESSION}; Domain=evil.example",
        ]
        head, mark, body = whole.partition(b"Connection")
        lines = "".join(f"Set-Cookie: {one}; Path=/\r\n" for one in sets)
        return (head + lines.encode() + mark + body) if asked.host == "a.example" else whole
    if asked.path.startswith("/to/"):
        return reply(status=302, Location=HOSTILE[int(asked.path[4:])])
    return page(text=f"<p>clay of {asked.url}")


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Settings that hold one of each."""
    jar = tmp_path / "cookies.txt"
    jar.write_text(
        f"# Netscape HTTP Cookie File\n\n#HttpOnly_a.example\tFALSE\t/\tFALSE\t0\tuser\t{COOKIE}\n"
        f".c.example\tTRUE\t/deep\tFALSE\t0\twide\t{WIDE}\n"
        f"old.example\tFALSE\t/\tFALSE\t1\tgone\t{WIDE}\n"
    )
    netrc = tmp_path / "netrc"
    netrc.write_text(
        f"machine a.example login anna password {PASSWORD}\ndefault login x password y\n"
    )
    monkeypatch.setenv("SPOOR_BEARER", f"b.example={TOKEN}\n")
    return {"cookies": str(jar), "netrc": str(netrc), "header": (f"X-Key: {HEADER}",)}


def everything(path: Path) -> Iterator[tuple[str, bytes]]:
    """(file, bytes) of all that lies under a folder, packed or not."""
    for file in path.rglob("*"):
        if not file.is_file():
            continue
        data = file.read_bytes()
        yield str(file), data
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as packed:
                parts = [packed.read(name) for name in packed.namelist()]
            yield from ((str(file), part) for part in parts)
            yield from ((str(file), gzip.decompress(p)) for p in parts if p[:2] == b"\x1f\x8b")
        if data.startswith(b"\x1f\x8b"):
            yield str(file), gzip.decompress(data)
        at = -1
        while (at := data.find(zstandard.MAGIC_NUMBER.to_bytes(4, "little"), at + 1)) >= 0:
            try:
                yield str(file), zstandard.ZstdDecompressor().decompressobj().decompress(data[at:])
            except zstandard.ZstdError:
                continue


def test_nothing_leaks_to_another_host_or_into_a_file(
    tmp_path: Path, secrets: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "run"
    server = Loopback(answer)
    with beside(server.serving):
        told = Settings(
            seeds=("http://a.example/",),
            topic="clay",
            scope="anywhere",
            delay=0.0,
            traps=True,
            connect_to=f"{ADDRESS}:{server.port}",
            **secrets,  # type: ignore[arg-type]
        )
        said: list[str] = []
        with closing(RunWriter(out, told)) as folder:
            run = LiveCrawl(folder, make_crawl(told))
            run.on_fault = said.append
            said.append(json.dumps(run.summary(run.run())))
        asked_before = len(server.heads)
        # The same run goes on, with another page to fetch: what the site set is sent again.
        with closing(RunWriter(out, told)) as folder:
            run = LiveCrawl(folder, make_crawl(told))
            run.crawl.seed(["http://a.example/later"])
            run.run()
    assert {asked.host for asked in server.asked} >= {canonical(u).split("/")[2] for u in HOSTILE}
    own = [head for head in server.heads if "\r\nHost: a.example\r\n" in head]
    assert len(own) > 5
    for head in own:
        assert all(one in head for one in (HEADER, BASIC, COOKIE)), head
    second = next(head for head in own if head.startswith("GET /second"))
    later = next(head for head in server.heads[asked_before:] if head.startswith("GET /later"))
    assert f"sid={SESSION}" in second
    assert f"sid={SESSION}" in later
    for head in server.heads:
        assert "referer" not in head.lower()
        if "\r\nHost: a.example:" in head:
            # Cookies know no ports (RFC 6265, section 8.5); all else does.
            assert not any(secret in head for secret in (HEADER, BASIC, TOKEN, WIDE)), head
        elif head not in own:
            assert not any(secret in head for secret in SECRETS), head
    # Where it belongs by its own words, it goes; b.example is no seed, and never asked by https.
    kept = out / files.COOKIES
    assert kept.stat().st_mode & 0o777 == 0o600
    assert SESSION in kept.read_text()
    assert not {COOKIE, WIDE} & set(kept.read_text().split('"'))
    kept.rename(tmp_path / "kept")

    exports = tmp_path / "exports"
    exports.mkdir()
    for form in ("jsonl", "warc", "wacz", "sqlite"):
        assert Run(out).export(exports / f"out-{form}", form, everything=True)
    write_report(out)
    for entry in Run(out).journal():
        assert not any(secret in repr(entry) for secret in SECRETS)
    for place in (out, exports):
        for file, data in everything(place):
            found = [secret for secret in SECRETS if secret.encode() in data]
            assert not found, (file, found)
    assert not any(secret in caplog.text + "".join(said) + repr(told) for secret in SECRETS)


def certificate(folder: Path) -> ssl.SSLContext:
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", str(key), "-out", str(cert), "-subj", "/CN=localhost"),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def test_nothing_that_was_meant_for_https_is_sent_in_the_clear(tmp_path: Path) -> None:
    jar, netrc = tmp_path / "cookies.txt", tmp_path / "netrc"
    jar.write_text(f"{ADDRESS}\tFALSE\t/\tFALSE\t0\tuser\t{COOKIE}\n")
    netrc.write_text(f"machine {ADDRESS} login anna password {PASSWORD}\n")
    plain = Loopback(lambda asked: MISSING if asked.path == "/robots.txt" else page(text="clay"))

    def secured(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return MISSING
        if asked.path == "/down":
            return reply(status=302, Location=f"http://{ADDRESS}:{plain.port}/")
        return reply("<a href=/down>clay</a>", Set_Cookie=f"sid={SESSION}")

    server = Loopback(secured)
    with beside(plain.serving), beside(lambda: server.serving(tls=certificate(tmp_path))):
        told = Settings(
            seeds=(f"https://{ADDRESS}:{server.port}/",),
            topic="clay",
            scope="anywhere",
            delay=0.0,
            verify_tls=False,
            allow_private=(ADDRESS,),
            cookies=str(jar),
            netrc=str(netrc),
            header=(f"X-Key: {HEADER}",),
        )
        with closing(RunWriter(tmp_path / "run", told)) as folder:
            LiveCrawl(folder, make_crawl(told)).run()
    down = next(head for head in server.heads if head.startswith("GET /down"))
    assert all(one in down for one in (HEADER, BASIC, COOKIE, SESSION))
    assert "/" in plain.pages
    assert not any(secret in head for head in plain.heads for secret in SECRETS)


def test_whom_a_header_belongs_to(tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine deep.example login u password p\n")
    settings = Settings(
        seeds=("http://old.example:8080/", "https://new.example/", "http://new.example/x"),
        header=("X-Seed: 1", "api.example:444|X-Api: 2", "[::1]:5|X-Six: 3", "X-Odd: a|b: c"),
        netrc=str(netrc),
    )
    known = Credentials(settings, {"SPOOR_BASIC": "\n p.example:3128=me:pa:ss \n"})
    sent = {
        url: {name for name, _ in known.headers(URL(url))}
        for url in (
            *(
                "http://old.example:8080/y",
                "https://old.example/",
                "http://old.example/",
                "https://old.example./",
            ),
            *("https://new.example/", "http://new.example/", "https://api.example:444/"),
            *("https://api.example/", "http://api.example:444/", "https://[::1]:5/"),
            *("https://deep.example/", "http://deep.example/", "https://x.deep.example/"),
        )
    }
    seed, api = {"X-Seed", "X-Odd"}, {"X-Api"}
    assert list(sent.values()) == [
        *(seed, seed, set(), set()),
        *(seed, set(), api),
        *(set(), set(), {"X-Six"}),
        *({"Authorization"}, set(), set()),
    ]
    assert known.password("p.example", 3128) == ("me", "pa:ss")
    assert known.password("p.example", 3129) == ("", "")
    assert known.password("deep.example", 3128) == ("u", "p")
    same_host = Settings(seeds=("https://deep.example/",), netrc=str(netrc))
    assert Credentials(same_host, {}).password("deep.example", 3128) == ("", ""), "the site's"
    for name in ("Authorization: x", "Cookie: x", "Host: x", "no colon", "X: a\nB: c", "a b|X: y"):
        with pytest.raises(InputError) as refused:
            Settings(header=(name,))
        assert "header is not 'Name: value'" in str(refused.value)
    for variable, line in (("SPOOR_BASIC", "a.example=onlyuser"), ("SPOOR_BEARER", "secret")):
        with pytest.raises(InputError) as refused:
            Credentials(Settings(), {variable: line})
        assert line.partition("=")[2] not in str(refused.value) or "=" not in line
        assert variable in str(refused.value)


def test_cookies_of_sites(tmp_path: Path) -> None:
    """RFC 6265 with public suffixes, and bounds."""
    from http.cookies import SimpleCookie

    from spoor.http.cookies import _Jar

    def after(url: str, *lines: str) -> _Jar:
        jar = _Jar()
        for line in lines:
            jar.receive(SimpleCookie(line), URL(url))
        return jar

    def names(jar: _Jar, url: str) -> set[str]:
        return set(jar.filter_cookies(URL(url)))

    jar = after(
        "https://www.shop.co.uk/a/b",
        *("host=1", "wide=1; Domain=shop.co.uk; Path=/", "tld=1; Domain=co.uk; Path=/"),
        *("other=1; Domain=evil.co.uk; Path=/", "gone=1; Max-Age=0; Path=/", f"long={'x' * 5000}"),
    )
    assert names(jar, "https://www.shop.co.uk/a/c") == {"host", "wide"}
    assert names(jar, "https://shop.co.uk/a/c") == {"wide"}
    assert names(jar, "https://www.shop.co.uk/") == {"wide"}
    assert not names(jar, "http://www.shop.co.uk/a/c"), "it came over https"
    assert not names(jar, "https://evil.co.uk/")
    plain = after("http://github.io/", "own=1; Domain=github.io", "safe=1; Secure")
    assert names(plain, "http://github.io/") == {"own"}
    assert not names(plain, "http://someone.github.io/")
    many = after("https://a.example/", *(f"n{number}=1" for number in range(1000)))
    assert 100 < len(many) <= 180
    kept = tmp_path / "kept.json"
    kept.write_text("[1")
    with pytest.raises(InputError, match=r"kept\.json is damaged"):
        Cookies(kept=kept)


@pytest.mark.parametrize("sign", ["{", "}", '"', "`", "~", ";"])
def test_no_host_sets_a_cookie_that_is_not_read_again(sign: str, tmp_path: Path) -> None:
    """A run whose links led to a host with such a sign did not go on: its file was damaged."""
    kept = tmp_path / "kept.json"
    jar = Cookies(kept=kept)
    for host in ("www.a.example", f"a{sign}b.example"):
        answer = SimpleNamespace(headers={"Set-Cookie": ""}, cookies=SimpleCookie("its=1"))
        jar.receive(answer, URL(f"http://{host}/", encoded=True))  # type: ignore[arg-type]
    jar.save()
    assert Cookies(kept=kept).header(URL("http://www.a.example/")) == "its=1"


@pytest.mark.parametrize(
    "text",
    [
        "a.example\tTRUE\t/\n",
        "a\tYES\t/\tFALSE\t0\tn\tv\n",
        "\x00\xff",
        "a b c d e f g\n",
        "a.example\tTRUE\t/\tTRUE\tinf\tn\tv\n",
        "a.example\tTRUE\t/\tTRUE\tnan\tn\tv\n",
        "\xef\xbc\x8e\tTRUE\t/\tTRUE\t0\tn\tv\n",
    ],
)
def test_a_file_that_is_no_cookies_txt_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text(text, "latin-1")
    with pytest.raises(InputError) as refused:
        Cookies(str(file))
    assert "\n" not in str(refused.value)
    assert "cookies.txt" in str(refused.value)


@pytest.mark.parametrize("name", ["cart[1]", "path", "a(b", "a,b", "a b", "domain"])
def test_a_cookie_of_an_unusual_name_is_sent_as_a_browser_does(tmp_path: Path, name: str) -> None:
    """Whatever site its user visited may have set it."""
    file = tmp_path / "cookies.txt"
    file.write_text(f"a.example\tTRUE\t/\tTRUE\t0\t{name}\tv\nb.example\tTRUE\t/\tTRUE\t0\tn\tw\n")
    jar = Cookies(str(file))
    assert jar.header(URL("https://a.example/")) == f"{name}=v"
    assert jar.header(URL("https://b.example/")) == "n=w"


@pytest.mark.parametrize("variable", ["SPOOR_BASIC", "SPOOR_BEARER"])
def test_a_variable_that_is_no_text_is_told_in_one_line(variable: str) -> None:
    environ = {variable: "a.example=\udcff:p"}
    with pytest.raises(InputError, match=r"line 1 of the variable .* is no plain text"):
        Credentials(Settings(), environ)


def test_no_words_of_a_server_are_printed_by_a_library() -> None:
    """aiohttp warns of each name of a cookie that it does not take."""
    code = "import logging, spoor.http.client; logging.getLogger('aiohttp.internal').warning('x')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ended.stderr == b""


def test_a_cookies_txt_is_read_as_curl_writes_it(tmp_path: Path) -> None:
    """The file is made by curl, where it is installed, from what a server set."""
    server = Loopback(lambda asked: reply("clay", Set_Cookie="a=1; HttpOnly; Path=/; Max-Age=1000"))
    file = tmp_path / "cookies.txt"
    with beside(server.serving):
        try:
            subprocess.run(
                ["curl", "-s", "-c", str(file), f"http://{ADDRESS}:{server.port}/"],
                check=True,
                capture_output=True,
                env={**os.environ, "NO_PROXY": "*"},
            )
        except FileNotFoundError:
            pytest.skip("curl is not installed")
    assert "#HttpOnly_" in file.read_text()
    jar = Cookies(str(file), is_plain=lambda host: host == ADDRESS)
    assert jar.header(URL(f"http://{ADDRESS}/deep")) == "a=1"
    assert not jar.header(URL("http://localhost/"))


def test_cookies_of_another_host_do_not_crowd_out_those_of_the_user(tmp_path: Path) -> None:
    file, kept = tmp_path / "cookies.txt", tmp_path / "cookies.json"
    file.write_text(f"www.uni.example\tFALSE\t/\tTRUE\t0\tuser\t{'u' * 1_500}\n")
    jar = Cookies(str(file), kept)
    assert jar._set is not None
    own: SimpleCookie = SimpleCookie("sid=s")
    bomb: SimpleCookie = SimpleCookie()
    for number in range(40):
        bomb[f"a{number}"] = "b" * 400
        bomb[f"a{number}"]["domain"] = "uni.example"
    jar._set.receive(bomb, URL("https://evil.uni.example/"))
    jar._set.receive(own, URL("https://www.uni.example/"))
    header = jar.header(URL("https://www.uni.example/"))
    assert len(header) <= MOST_SENT
    names = [pair.partition("=")[0] for pair in header.split("; ")]
    assert names[:2] == ["user", "sid"]


def test_plain_http_sets_no_cookie_that_https_has_set_or_its_user_named(tmp_path: Path) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text("site.com\tTRUE\t/\tTRUE\t0\tsession\tmine\n")
    jar, answer = Cookies(str(file)), SimpleNamespace(headers={"Set-Cookie": ""})
    jar.receive(said(answer, "id=1"), URL("https://site.com/"))
    jar.receive(said(answer, "session=theirs", "id=2", "new=3"), URL("http://www.site.com/"))
    assert jar.header(URL("https://site.com/")) == "session=mine; id=1"
    jar.receive(said(answer, "session=fresh"), URL("https://site.com/"))
    assert jar.header(URL("https://site.com/")) == "session=fresh; id=1"


@pytest.mark.parametrize(
    "line",
    [
        "__Host-a=1; Path=/",
        "__Host-a=1; Secure",
        "__host-a=1; Secure; Path=/; Domain=site.com",
        "__Secure-a=1",
    ],
)
def test_a_cookie_is_what_its_name_promises(line: str) -> None:
    jar, answer = Cookies(), SimpleNamespace(headers={"Set-Cookie": ""})
    jar.receive(said(answer, line), URL("https://site.com/"))
    assert jar.header(URL("https://site.com/")) == ""
    jar.receive(said(answer, "__Host-a=1; Secure; Path=/"), URL("https://site.com/"))
    assert jar.header(URL("https://site.com/")) == "__Host-a=1"


def said(answer: SimpleNamespace, *lines: str) -> Any:
    """A reply that sets these cookies."""
    answer.cookies = SimpleCookie()
    for line in lines:
        answer.cookies.load(line)
    return answer


@pytest.mark.parametrize(
    ("given", "names"),
    [({}, False), ({"header": ("X-Key: 1",)}, True), ({"cookies": "cookies.txt"}, True)],
)
def test_pages_are_clicked_on_in_nobodys_name(
    given: dict[str, Any], names: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A button of a site that knows its user may do something for them, also by GET."""
    monkeypatch.chdir(tmp_path)
    Path("cookies.txt").write_text("# Netscape HTTP Cookie File\n")
    settings = Settings(seeds=("http://a.example/",), **given)

    async def asked() -> bool:
        client = Client(settings, AddressGuard(settings))
        try:
            return client.names_user
        finally:
            await client.close()

    assert asyncio.run(asked()) is names


def test_a_request_costs_no_look_at_every_seed() -> None:
    """A list of sites has thousands, and a header without a host is for each of them."""
    seeds = tuple(f"https://s{n}.example/" for n in range(20_000))
    known = Credentials(Settings(seeds=seeds, header=("X-Seed: 1",)), {})
    began = time.process_time()
    sent = [known.headers(URL(f"https://s{n}.example/")) for n in range(19_900, 20_100)]
    plain = [known.is_plain(f"s{n}.example") for n in range(19_900, 20_100)]
    assert time.process_time() - began < 0.2, "half a second and more with a look at each"
    assert [len(headers) for headers in sent] == [1] * 100 + [0] * 100
    assert not any(plain)
    assert Credentials(Settings(seeds=("http://a.b.example/",)), {}).is_plain("b.example")
    assert not Credentials(Settings(seeds=("http://ab.example/",)), {}).is_plain("b.example")
