"""URLs: the WHATWG join, one spelling for each, their domains and words, and the joiner's memory."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.web.urls import (
    MAX_LENGTH,
    Joiner,
    UrlWords,
    canonical,
    forms,
    host,
    names_host,
    plain,
    registrable_domain,
    resolve,
    shard_of,
    words,
)

DATA = Path(os.environ.get("SPOOR_DATA", Path(__file__).parents[2] / "../shared/data")).resolve()
NORMALIZER = DATA / "conformance" / "url-normalizer-cc"
SUFFIXES = DATA / "conformance" / "psl" / "tests.txt"
B = "http://a.example/d/e/f?x=1"


# ---------------------------------------------------------------- resolve


@pytest.mark.parametrize(
    ("url", "base", "expected"),
    [
        ("HTTP://A.Example:80", None, "http://a.example/"),
        ("https://a.example:443/x", None, "https://a.example/x"),
        ("https://a.example:80/x", None, "https://a.example:80/x"),
        ("g", B, "http://a.example/d/e/g"),
        ("./g", B, "http://a.example/d/e/g"),
        ("../g", B, "http://a.example/d/g"),
        ("../../../../g", B, "http://a.example/g"),
        ("/g", B, "http://a.example/g"),
        ("//b.example", B, "http://b.example/"),
        ("?y", B, "http://a.example/d/e/f?y"),
        ("", B, B),
        ("#s", B, B),
        ("g#s/../x", B, "http://a.example/d/e/g"),
        ("g?y/../x", B, "http://a.example/d/e/g?y/../x"),
        ("http:g", B, "http://a.example/d/e/g"),
        ("https:g", B, "https://g/"),
        ("\\g\\h", B, "http://a.example/g/h"),
        (" \n g\th ", B, "http://a.example/d/e/gh"),
        ("a^b?c^d", B, "http://a.example/d/e/a%5Eb?c^d"),
        ("a b", B, "http://a.example/d/e/a%20b"),
        ("é?é", B, "http://a.example/d/e/%C3%A9?%C3%A9"),
        ("http://user:secret@b.example/x", None, "http://b.example/x"),
        ("//user@b.example/x", B, "http://b.example/x"),
        ("http://bücher.example/", None, "http://xn--bcher-kva.example/"),
        ("http://0x7f.1/", None, "http://127.0.0.1/"),
        ("http://[::0:1]:8080/x", None, "http://[::1]:8080/x"),
        ("a:b", "http://h/", ValueError),
        ("mailto:me@a.example", B, ValueError),
        ("javascript:void(0)", B, ValueError),
        ("data:text/html,x", B, ValueError),
        ("ftp://a.example/x", None, ValueError),
        ("file:///etc/passwd", B, ValueError),
        ("g", None, ValueError),
        ("", None, ValueError),
        ("http://", None, ValueError),
        ("http://a.example:99999/", None, ValueError),
        ("http://[::1/", None, ValueError),
        ("http://a b.example/", None, ValueError),
        ("http://./", None, ValueError),
        ("//%2E%2e:80/x", B, ValueError),
        ("http://.a.example/", None, ValueError),
        ("g", "mailto:me", ValueError),
        ("\ud800", "nothing", ValueError),
    ],
)
def test_resolve(url: str, base: str | None, expected: str | type[ValueError]) -> None:
    if isinstance(expected, str):
        assert resolve(url, base) == expected
    else:
        with pytest.raises(ValueError, match="not a"):
            resolve(url, base)


# ---------------------------------------------------------------- canonical


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h/%7ejoe/%41%2d%5f", "http://h/~joe/A-_"),
        ("http://h/%2f%3a%c3%a9", "http://h/%2F%3A%C3%A9"),
        ("http://h/a/%2e%2e/b", "http://h/b"),
        ("http://h/a%2Eb", "http://h/a.b"),
        ("http://h/100%", "http://h/100%"),
        ("http://h/?q=%zz", "http://h/?q=%zz"),
        # Escapes that stand for a part of an escape are not one.
        ("http://h/%%37%37", "http://h/%2577"),
        ("http://h/%2%35", "http://h/%2525"),
        ("http://h/?%61=%26", "http://h/?a=%26"),
    ],
)
def test_one_spelling_of_escapes(url: str, expected: str) -> None:
    assert canonical(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h/a?utm_source=x&id=1&UTM_Medium=y", "http://h/a?id=1"),
        ("http://h/a?id=1&highlight=red+kiln", "http://h/a?id=1"),
        ("http://h/a.html?hilit=kiln", "http://h/a.html"),
        ("http://h/match?highlight=7", "http://h/match?highlight=7"),
        ("http://h/a?fbclid=x", "http://h/a"),
        ("http://h/a?id=1&&PHPSESSID=2&b", "http://h/a?id=1&&b"),
        ("http://h/a?%73id=2", "http://h/a"),
        ("http://h/a?sidebar=2&utm=3", "http://h/a?sidebar=2&utm=3"),
        ("http://h/a;jsessionid=12.x?id=1", "http://h/a?id=1"),
        ("http://h/a;JSESSIONID=12;v=2/b;sid=3", "http://h/a;v=2/b"),
        ("http://h/b/..;sid=1/a", "http://h/a"),
        ("http://h/a?x=1;sid=5&page=2", "http://h/a?x=1;sid=5&page=2"),
        ("http://h/a?", "http://h/a?"),
        ("http://;sid=1/;sid=1", "http://;sid=1/"),
        ("http://a.example;sid=1.b.example/x", "http://a.example;sid=1.b.example/x"),
    ],
)
def test_parameters_that_name_a_visit(url: str, expected: str) -> None:
    assert canonical(url, strip_tracking=True) == expected
    assert canonical(url) == canonical(resolve(url))


PIECES = """/ // . .. %2e %2E %25 % %4 %41 %37 7 a B é : ; ;sid=1 ;jsessionid= ? # & = utm_source=1
    sid=2 @ \\ [ ] { | ^ ` ' " < > ~""".split()
piece = st.sampled_from([*PIECES, " ", "\t", "\n", "\x00", "\u2028", "\ud800"])
tails = st.lists(piece, max_size=12).map("".join)
urls = st.builds(
    lambda head, tail: head + tail,
    st.sampled_from(
        ["http://h/", "https://a.example:8080/", "http://h", "HTTP://u:p@H/", "https://"]
    ),
    tails | st.text(max_size=30),
)


@given(urls, st.booleans())
def test_canonical_is_idempotent(url: str, strip: bool) -> None:
    try:
        known = canonical(url)
    except ValueError:
        return
    once = canonical(url, strip_tracking=strip)
    assert host(once) == host(known)
    assert names_host(once)
    assert canonical(once, strip_tracking=strip) == once
    assert resolve(once) == once
    assert once.startswith(("http://", "https://"))
    assert "#" not in once
    assert "@" not in host(once)


# Where the cases of the url-normalizer of crawler-commons follow a rule of their own, and ours.
WHATWG = "the WHATWG parser's spelling is kept: this octet needs no escape there"
STRAY = "a percent sign that begins no escape is sent as it stands, as browsers do"
ORDER = "the order and the empty parts of a query belong to the site"
SLASHES = "slashes that follow each other name another page on many servers"
EMPTY = "an empty query is not no query"
HTTP = "http(s) only"
DIFFERENCES: dict[str, tuple[str | None, str]] = {
    "http://x.com/?x[y]=1": ("http://x.com/?x[y]=1", WHATWG),
    "http://foo.com//aa/bb/foo.html": ("http://foo.com//aa/bb/foo.html", SLASHES),
    "http://foo.com/aa//bb/foo.html": ("http://foo.com/aa//bb/foo.html", SLASHES),
    "http://foo.com/aa/bb//foo.html": ("http://foo.com/aa/bb//foo.html", SLASHES),
    "http://foo.com//aa//bb//foo.html": ("http://foo.com//aa//bb//foo.html", SLASHES),
    "http://foo.com////aa////bb//foo.html": ("http://foo.com////aa////bb//foo.html", SLASHES),
    "http://foo.com////aa////bb////foo.html": ("http://foo.com////aa////bb////foo.html", SLASHES),
    "file:///foo/bar.txt": (None, HTTP),
    "ftp:/": (None, HTTP),
    "http:////": (None, "without a host there is nobody to ask"),
    "http:///////": (None, "without a host there is nobody to ask"),
    "http://example.com?": ("http://example.com/?", EMPTY),
    "http://example.com/?": ("http://example.com/?", EMPTY),
    "https://www.last.fm/music/Prefuse+73/_/90%+of+My+Mind+Is+With+You": (
        "https://www.last.fm/music/Prefuse+73/_/90%+of+My+Mind+Is+With+You",
        STRAY,
    ),
    "http://www.example.com/a/c/../b/search?q=foobar%": (
        "http://www.example.com/a/b/search?q=foobar%",
        STRAY,
    ),
    "http://www.example.com/a/c/../b/search?q=foobar^": (
        "http://www.example.com/a/b/search?q=foobar^",
        WHATWG,
    ),
    "http://www.example.com/a/c/../b/search?q=foobar`": (
        "http://www.example.com/a/b/search?q=foobar`",
        WHATWG,
    ),
    "http://www.example.com/a/c/../b/search?q=foobar|": (
        "http://www.example.com/a/b/search?q=foobar|",
        WHATWG,
    ),
    "http://www.example.com/p%zz%77%v": ("http://www.example.com/p%zzw%v", STRAY),
    "http://www.example.com/search?q=foobar%": ("http://www.example.com/search?q=foobar%", STRAY),
    "http://www.example.com/search?q=foobar%2": (
        "http://www.example.com/search?q=foobar%2",
        STRAY,
    ),
    "foo.com/index.html": (None, "a reference without a base is not guessed at"),
    "ftp://foo.com/index.html": (None, HTTP),
    "file:/path/index.html": (None, HTTP),
    "https://www.example.org./": (
        "https://www.example.org./",
        "the last dot of a name is sent in the Host header, and servers tell the two apart",
    ),
    "file:/var/www/html/////./bar/index.html": (None, HTTP),
    "file:/var/www/html/foo/../bar/index.html": (None, HTTP),
    "http://example.com/?b=1&a=1": ("http://example.com/?b=1&a=1", ORDER),
    "http://foo.com/foo.html?b=1&a=1": ("http://foo.com/foo.html?b=1&a=1", ORDER),
    "http://foo.com/index?b=2&a=1": ("http://foo.com/index?b=2&a=1", ORDER),
    "http://foo.com/index?b=2&a=1#c": ("http://foo.com/index?b=2&a=1", ORDER),
    "http://foo.com/index?a=1&b=": ("http://foo.com/index?a=1&b=", ORDER),
    "http://foo.com/index?b&a=1": ("http://foo.com/index?b&a=1", ORDER),
    "http://foo.com/index?b=&a=1": ("http://foo.com/index?b=&a=1", ORDER),
    "http://foo.com/index?b=1&a=1&": ("http://foo.com/index?b=1&a=1&", ORDER),
    "http://foo.com/index?&b=1&a=1": ("http://foo.com/index?&b=1&a=1", ORDER),
    "http://foo.com/index?&=1&a=1": ("http://foo.com/index?&=1&a=1", ORDER),
    "http://foo.com/index?=1&b=1&a=1": ("http://foo.com/index?=1&b=1&a=1", ORDER),
}


def rows(name: str) -> Iterator[list[str]]:
    with (NORMALIZER / name).open(encoding="utf-8", newline="\n") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                (row,) = csv.reader([line.rstrip("\n")], skipinitialspace=True)
                yield [field.strip(" ") for field in row]


def answer(url: str) -> str | None:
    try:
        return canonical(url)
    except ValueError:
        return None


@pytest.mark.data
@pytest.mark.skipif(not NORMALIZER.exists(), reason="needs conformance/url-normalizer-cc")
def test_cases_of_another_crawlers_normalizer() -> None:
    cases = dict(rows("weirdToNormalizedUrls.csv"))
    assert len(cases) > 90
    assert set(DIFFERENCES) <= set(cases)
    expected = cases | {url: ours for url, (ours, _) in DIFFERENCES.items()}
    assert {url: answer(url) for url in cases} == expected
    # A difference that is none any more must not stay on the list.
    assert not [url for url, (ours, _) in DIFFERENCES.items() if ours == cases[url]]
    assert [answer(url) for (url,) in rows("invalidUrls.csv")] == [None, None]


@pytest.mark.data
@pytest.mark.skipif(not NORMALIZER.exists(), reason="needs conformance/url-normalizer-cc")
def test_cases_of_another_crawlers_joins() -> None:
    differ = {}
    cases = list(rows("url-resolve.csv"))
    assert len(cases) == 22
    for url, base, expected in cases:
        try:
            ours = resolve(url, base or None)
        except ValueError:
            ours = "refused"
        if ours != expected:
            differ[url] = ours
    # Userinfo and fragments are dropped, and http(s) is all that is joined.
    assert differ == {
        "http://user:pass@foo:21/bar;par?b#c": "http://foo:21/bar;par?b",
        "#right-menu": "https://example.org/product/red-table",
        "//server/file": "refused",
    }


# ---------------------------------------------------------------- hosts


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("www.cs.cornell.edu", "cornell.edu"),
        ("a.b.co.uk", "b.co.uk"),
        ("a.b.co.uk:8080", "b.co.uk"),
        ("a.b.co.uk.", "b.co.uk"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("localhost:81", "localhost"),
        ("127.0.0.1:81", "127.0.0.1"),
        ("[::1]:81", "[::1]"),
        ("a.site17.test", "site17.test"),
    ],
)
def test_registrable_domain(name: str, expected: str) -> None:
    assert registrable_domain(name) == expected


@pytest.mark.data
@pytest.mark.skipif(not SUFFIXES.exists(), reason="needs conformance/psl")
def test_cases_of_the_public_suffix_list() -> None:
    lines = [line.split() for line in SUFFIXES.read_text("utf-8").splitlines()]
    cases = [(line[0], line[1]) for line in lines if line and not line[0].startswith("//")]
    cases = [case for case in cases if case[0] != "null"]
    assert len(cases) > 70
    # Where nothing was registered, the host stands for itself.
    expected = {name: name if domain == "null" else domain for name, domain in cases}
    assert {name: registrable_domain(name) for name in expected} == expected


def test_forms_of_a_url_by_which_people_name_the_same_page() -> None:
    shown = "https://www.a.example/kilns/?p=2"
    for typed in (
        shown,
        "http://a.example/kilns?p=2",
        "https://a.example/kilns/index.html?utm_source=mail&p=2",
        "http://www.a.example/kilns/index.php?p=2&fbclid=x",
    ):
        its = list(forms(canonical(typed)))
        assert its[0] == canonical(typed)
        assert shown in its
        assert len(its) <= 48
    assert "http://a.example/" in forms("http://a.example/index.html")
    assert all(one == canonical(one) for one in its)


def test_host() -> None:
    assert host("http://a.example:8080/x//y?z=/") == "a.example:8080"
    assert host("https://[::1]/") == "[::1]"


SHARDS = [1, 3, 0, 0, 1, 1, 3, 3, 0, 3, 0, 2]


def test_shards_are_the_same_on_every_machine() -> None:
    names = [f"site{number}.example" for number in range(12)]
    assert [shard_of(name, 4) for name in names] == SHARDS
    assert [shard_of(f"www.{name}:8080", 4) for name in names] == SHARDS


def test_a_new_shard_takes_its_share_and_moves_nothing_else() -> None:
    names = [f"site{number}.example" for number in range(3_000)]
    before = [shard_of(name, 5) for name in names]
    after = [shard_of(name, 6) for name in names]
    assert {new for old, new in zip(before, after, strict=True) if new != old} == {5}
    # Binomial with p = 1/6: 500, standard deviation 20.
    assert 400 < after.count(5) < 600
    assert min(before.count(shard) for shard in range(5)) > 500
    assert {shard_of(name, 1) for name in names} == {0}


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h/", UrlWords(("h",), (), (), ())),
        (
            "http://www.cs.cornell.edu:80/Info/People/jdoe42/home_page.html?courseID=CS101&x",
            UrlWords(
                ("www", "cs", "cornell", "edu", "80"),
                ("info", "people", "jdoe", "42"),
                ("home", "page", "html"),
                ("course", "id", "cs", "101", "x"),
            ),
        ),
        ("http://h/a?x=/b/c", UrlWords(("h",), (), ("a",), ("x", "b", "c"))),
        ("http://h/a/b/", UrlWords(("h",), ("a", "b"), (), ())),
        ("http://h/a%20b%C3%A9c", UrlWords(("h",), (), ("a", "b", "c"), ())),
        ("http://h/theNewPDF", UrlWords(("h",), (), ("the", "new", "pdf"), ())),
    ],
)
def test_words(url: str, expected: UrlWords) -> None:
    assert words(url) == expected


# ---------------------------------------------------------------- the joiner

hrefs = st.builds(
    lambda head, tail: head + tail,
    st.sampled_from(["", "/", "//h/", "?", "#", "http:", "HTTPS:", "http://h/", "h", " ", "\n?"]),
    tails,
)
references = st.lists(
    st.sampled_from(
        "../ ./ .. . / // a b.c c/ d~e ;sid=1 ?q=/1 ?sid=2 #f : @ %2e %41 & \\ é é/".split(" ")
    ),
    max_size=7,
).map("".join)
origins = st.sampled_from(
    """http://h https://h.example http://H http://h. http://a..b http://1.2 http://0x7f.1 http://-
    http://xn--a http://xn--e1afmkfd.example http://h:80 http://a http://a:81 https://a http://h:081 http://h:99999 http://u@h http:// http://h- http://1.2.3.4
    http://4294967296 http://a.0 http://.""".split()
)
absolutes = st.builds(lambda origin, rest: origin + rest, origins, references)
bases = st.sampled_from(
    """http://a/ http://a/x http://a/x/ http://a/x?q http://a/y?q=/z/ http://a//x http://b/x
    https://a/x http://a:81/x//y/z/ http://a/x/%2541/y http://a http://A/x/y http://a:80/x/
    http://a/x/../y ftp://a/x/y http:a/x/y""".split()
)


@given(
    st.lists(st.tuples(hrefs | references | absolutes, bases), max_size=30),
    st.integers(1, 8),
)
def test_the_joiners_memory_changes_no_answer(asked: list[tuple[str, str]], size: int) -> None:
    joiner = Joiner(size=size)
    for href, base in asked + asked:
        expected: str | None
        try:
            expected = canonical(href, base)
        except ValueError:
            expected = None
        assert joiner.join(href, base) == expected


@pytest.mark.parametrize("href", [" ?a", "\t#a", "http:?a", "http:", "\n", "HTTP:#"])
def test_references_to_the_page_itself_are_remembered_for_that_page_alone(href: str) -> None:
    joiner = Joiner()
    for base in ("http://h/x", "http://h/y"):
        assert joiner.join(href, base) == canonical(href, base)


def test_the_joiner_refuses_what_is_too_long() -> None:
    joiner = Joiner()
    head = "http://h/"
    longest = head + "a" * (MAX_LENGTH - len(head))
    assert joiner.join(longest, "http://h/") == longest
    assert joiner.join(longest + "a", "http://h/") is None
    assert joiner.join("javascript:void(0)", "http://h/") is None


@pytest.mark.parametrize(
    ("href", "kept"),
    [
        ("#/guide", "http://a.test/app#/guide"),
        ("#!/guide?id=3", "http://a.test/app#!/guide?id=3"),
        ("#!guide", "http://a.test/app#!guide"),
        ("/other#/a%2fb", "http://a.test/other#/a%2Fb"),
        ("#section", "http://a.test/app"),
        ("#/", "http://a.test/app"),
        ("#!", "http://a.test/app"),
        ("#!/", "http://a.test/app"),
        ("##/x", "http://a.test/app"),
    ],
)
def test_fragments_that_name_a_page_for_scripts(href: str, kept: str) -> None:
    base = "http://a.test/app#/from"
    assert Joiner().route(href, base) == canonical(kept, routes=True) == kept
    assert canonical(href, base) == plain(kept)
    tracked = canonical(f"http://a.test/app?utm_source=x{href}", strip_tracking=True, routes=True)
    assert tracked == kept or not href.startswith("#")


@pytest.mark.parametrize("rest", ["", "/", "/a?b", "/%41"])
def test_no_host_is_longer_than_a_name_can_be(rest: str) -> None:
    """Longer ones stayed in memory as names of sites, 8 kB each."""
    name = ".".join(["a" * 49] * 5) + ".abc"
    assert len(name) == 253
    joiner = Joiner()
    for known, ends in ((name, True), (f"{name}:65000", True), (f"{'b' * 30}.{name}", False)):
        for scheme in ("http", "https"):
            found = joiner.join(f"{scheme}://{known}{rest}", "http://site.example/")
            assert (found is not None) == ends, known
    with pytest.raises(ValueError, match="253"):
        resolve(f"http://{'b' * 300}{rest}")
