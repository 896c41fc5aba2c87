"""robots.txt: RFC 9309 case by case, real files, and the parser that large crawlers' cases came with."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from spoor.web.robots import LIMIT, Rules, from_reply, parse

DATA = Path(os.environ.get("SPOOR_DATA", Path(__file__).parents[2] / "../shared/data")).resolve()
FILES = DATA / "conformance" / "robots-cc"
H = "http://foo.bar"

BOTH = "user-agent: FooBot\ndisallow: /\n"
GROUPS = """allow: /foo/bar/

user-agent: FooBot
disallow: /
allow: /x/
user-agent: BarBot
disallow: /
allow: /y/


allow: /w/
user-agent: BazBot

user-agent: FooBot
allow: /z/
disallow: /
"""
ONE = "user-agent: FooBot\n"

CASES: list[tuple[str, str, str, str, bool]] = [
    # what, file, agent, path, allowed
    ("an empty file allows all", "", "FooBot", "/", True),
    ("no group for us", BOTH, "BarBot", "/x", True),
    ("no agent", BOTH, "", "/x", True),
    ("an empty URL is the root", BOTH, "FooBot", "", False),
    ("a rule", BOTH, "FooBot", "/x/y", False),
    ("unknown lines say nothing", "foo: FooBot\nbar: /\n", "FooBot", "/x", True),
    ("colons are forgotten", "user-agent FooBot\ndisallow /\n", "FooBot", "/x", False),
    ("groups: x", GROUPS, "FooBot", "/x/b", True),
    ("groups: z, merged", GROUPS, "FooBot", "/z/d", True),
    ("groups: another's", GROUPS, "FooBot", "/y/c", False),
    ("groups: BarBot", GROUPS, "BarBot", "/y/c", True),
    ("groups: after empty lines", GROUPS, "BarBot", "/w/a", True),
    ("groups: not BarBot's", GROUPS, "BarBot", "/z/d", False),
    ("groups: BazBot with FooBot", GROUPS, "BazBot", "/z/d", True),
    ("a rule before any group", GROUPS, "FooBot", "/foo/bar/", False),
    ("a rule before any group 2", GROUPS, "BazBot", "/foo/bar/", False),
    ("fields in capitals", "USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /\n", "FooBot", "/x/y", True),
    ("fields in any case", "uSeR-aGeNt: FooBot\ndIsAlLoW: /\n", "FooBot", "/a/b", False),
    ("agents in any case", "User-Agent: FOO BAR\nDisallow: /\n", "foo", "/a", False),
    ("agents with versions", BOTH, "FooBot/2.1 (+http://x)", "/a", False),
    ("the token ends at a blank", "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n", "Foo Bar", "/x/y", True),
    ("the token before the blank", "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n", "Foo", "/x/y", True),
    ("several agents on a line", "User-agent: One, Two, Three\nDisallow: /\n", "Two", "/", False),
    ("our own group beats *", "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n", "FooBot", "/x", False),
    ("* for all others", "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n", "BarBot", "/x", True),
    ("our own group alone", "user-agent: *\nDisallow: /x/\nUser-agent: FooBot\nDisallow: /y/\n", "FooBot", "/x/page", True),
    ("an empty group of our own", "user-agent: *\nDisallow: /\nUser-agent: FooBot\n", "FooBot", "/x", True),
    ("a longer token is another's", "User-agent: FooBot-News\nDisallow: /\n", "FooBot", "/", True),
    ("a shorter token is another's", "User-agent: Foo\nDisallow: /\n", "FooBot", "/", True),
    ("a part of a token is none", "User-agent: bot\nDisallow: /\n", "FooBot", "/", True),
    ("paths mind their case", ONE + "disallow: /X/\n", "FooBot", "/x/y", True),
    # the most octets
    ("longest disallow", ONE + "disallow: /x/page.html\nallow: /x/\n", "FooBot", "/x/page.html", False),
    ("longest allow", ONE + "allow: /x/page.html\ndisallow: /x/\n", "FooBot", "/x/page.html", True),
    ("shorter disallow", ONE + "allow: /x/page.html\ndisallow: /x/\n", "FooBot", "/x/", False),
    ("empty rules", ONE + "disallow: \nallow: \n", "FooBot", "/x", True),
    ("a tie", ONE + "disallow: /\nallow: /\n", "FooBot", "/x", True),
    ("a tie, the other way", ONE + "allow: /folder\ndisallow: /folder\n", "FooBot", "/folder/page", True),
    ("a slash more", ONE + "disallow: /x\nallow: /x/\n", "FooBot", "/x", False),
    ("a slash more 2", ONE + "disallow: /x\nallow: /x/\n", "FooBot", "/x/", True),
    ("wildcards count", ONE + "allow: /page\ndisallow: /*.html\n", "FooBot", "/page.html", False),
    ("wildcards count 2", ONE + "allow: /x/page.\ndisallow: /*.html\n", "FooBot", "/x/page.html", True),
    ("a query sign is one octet", ONE + "disallow: /*?x\nallow: /page/\n", "FooBot", "/page/?x", True),
    ("allow the front page only", ONE + "allow: /$\ndisallow: /\n", "FooBot", "/", True),
    ("allow the front page only 2", ONE + "allow: /$\ndisallow: /\n", "FooBot", "/page.html", False),
    # encodings (RFC 9309, 2.2.2)
    ("a URL in a query", ONE + "Disallow: /\nAllow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par\n", "FooBot", "/foo/bar?qux=taz&baz=http://foo.bar?tar&par", True),
    ("UTF-8 in the rule", ONE + "Disallow: /\nAllow: /foo/bar/ツ\n", "FooBot", "/foo/bar/%E3%83%84", True),
    ("UTF-8 in the URL", ONE + "Disallow: /\nAllow: /foo/bar/%e3%83%84\n", "FooBot", "/foo/bar/ツ", True),
    ("escapes in either case", ONE + "Disallow: /%e3%83%84\n", "FooBot", "/%E3%83%84", False),
    ("escapes that need not be", ONE + "Disallow: /foo/bar/%62%61%7A\n", "FooBot", "/foo/bar/baz", False),
    # RFC 9309, 2.2.2 escapes reserved octets in its table and keeps escaped ones apart in its text.
    ("reserved octets are equal, escaped or not", ONE + "Disallow: /a%3Fb\n", "FooBot", "/a?b", False),
    ("reserved octets are equal to themselves", ONE + "Disallow: /a%3fb\n", "FooBot", "/a%3Fb", False),
    ("an escaped slash is none", ONE + "Disallow: /a/b\n", "FooBot", "/a%2Fb", True),
    ("blanks", ONE + "Disallow: /a b\n", "FooBot", "/a%20b", False),
    ("a tilde", ONE + "Disallow: /%7Ejoe\n", "FooBot", "/~joe/index.html", False),
    ("a broken escape", ONE + "Disallow: /wiki/x%3Mediation\n", "FooBot", "/wiki/x", True),
    # special characters (2.2.3)
    ("a wildcard inside", ONE + "Disallow: /\nAllow: /foo/*/qux\n", "FooBot", "/foo/bar/qux", True),
    ("a wildcard for nothing", ONE + "Disallow: /foo/*/qux\n", "FooBot", "/foo//qux", False),
    ("a wildcard across slashes", ONE + "Disallow: /foo/*/qux\n", "FooBot", "/foo/a/b/qux", False),
    ("an end", ONE + "Disallow: /foo/bar$\n", "FooBot", "/foo/bar", False),
    ("an end 2", ONE + "Disallow: /foo/bar$\n", "FooBot", "/foo/bar/", True),
    ("an end with a query", ONE + "Disallow: /foo/bar$\n", "FooBot", "/foo/bar?x", True),
    ("a dollar inside", ONE + "Disallow: /a$b\n", "FooBot", "/a$b", False),
    ("an escaped dollar", ONE + "Disallow: /a%24\n", "FooBot", "/a$", False),
    ("an escaped dollar is no end", ONE + "Disallow: /a%24\n", "FooBot", "/a", True),
    ("an escaped star", ONE + "Disallow: /a%2Ab\n", "FooBot", "/a*b", False),
    ("an escaped star is no wildcard", ONE + "Disallow: /a%2Ab\n", "FooBot", "/axb", True),
    ("a comment", ONE + "# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n", "FooBot", "/foo/quz", False),
    ("a comment 2", ONE + "# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n", "FooBot", "/foo/bar", True),
    ("a suffix", ONE + "Disallow: /*.php$\n", "FooBot", "/a/b.php", False),
    ("a suffix 2", ONE + "Disallow: /*.php$\n", "FooBot", "/a/b.php5", True),
    ("a suffix that overlaps", ONE + "Disallow: /a*aa$\n", "FooBot", "/aa", True),
    ("a suffix twice", ONE + "Disallow: /*.php$\n", "FooBot", "/x.php/y.php", False),
    ("a leading wildcard", ONE + "Disallow: *.gif$\n", "FooBot", "/i/a.gif", False),
    ("a query", ONE + "Disallow: /*?\n", "FooBot", "/a?", False),
    ("fish", ONE + "disallow: /\nallow: /fish\n", "FooBot", "/fishheads/yummy.html", True),
    ("fish*", ONE + "disallow: /\nallow: /fish*\n", "FooBot", "/fish.html?id=anything", True),
    ("fish 2", ONE + "disallow: /\nallow: /fish\n", "FooBot", "/catfish", False),
    ("fish/", ONE + "disallow: /\nallow: /fish/\n", "FooBot", "/fish.html", False),
    ("fish/ 2", ONE + "disallow: /\nallow: /fish/\n", "FooBot", "/fish/?salmon", True),
    ("fish*.php", ONE + "disallow: /\nallow: /fish*.php\n", "FooBot", "/fishheads/catfish.php?parameters", True),
    ("two slashes", ONE + "disallow: /\nallow: /*.php\n", "FooBot", "//folder/any.php.file.html", True),
    ("the index is its directory", "User-Agent: *\nAllow: /s/index.html\nDisallow: /\n", "foobot", "/s/", True),
    ("the index is its directory 2", "User-Agent: *\nAllow: /s/index.html\nDisallow: /\n", "foobot", "/s/index.htm", False),
    ("robots.txt itself", BOTH, "FooBot", "/robots.txt", True),
    ("only robots.txt itself", BOTH, "FooBot", "/robots.txt.bak", False),
    # other records never close a group (2.2.4)
    ("unknown between agents", "User-agent: FooBot\nNoise: 1\nUser-agent: BarBot\nDisallow: /\n", "FooBot", "/", False),
    ("delay between agents", "User-agent: FooBot\nCrawl-delay: 1\nUser-agent: BarBot\nDisallow: /\n", "FooBot", "/", False),
    ("sitemap between agents", "User-agent: FooBot\nSitemap: http://foo.bar/s\nUser-agent: BarBot\nDisallow: /\n", "FooBot", "/", False),
    ("an agent line without an agent", "User-agent: FooBot\nDisallow: /a\nUser-agent:\nDisallow: /b\n", "FooBot", "/b", True),
    # lines
    ("CR", "User-agent: FooBot\rDisallow: /\r", "FooBot", "/", False),
    ("CRLF", "User-agent: FooBot\r\nDisallow: /\r\n", "FooBot", "/", False),
    ("no last line end", "User-agent: FooBot\nDisallow: /", "FooBot", "/", False),
    ("no line ends but these", "User-agent: FooBot\nDisallow: /a\u2028b\n", "FooBot", "/a%E2%80%A8b", False),
    ("a mark", "\ufeffUser-agent: FooBot\nDisallow: /\n", "FooBot", "/", False),
    ("a rule that is a URL", ONE + "Disallow: http://foo.bar/a\n", "FooBot", "/a", False),
    ("a rule without its slash", ONE + "Disallow: private/\n", "FooBot", "/private/x", False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "agent", "path", "expected"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_rfc_9309(text: str, agent: str, path: str, expected: bool) -> None:
    assert parse(text, agent).allowed(H + path) is expected
    assert parse(text.encode(), agent).allowed(H + path) is expected


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", "/"),
        ("http://www.example.com", "/"),
        ("http://www.example.com/a/b?c=http://d.e/", "/a/b?c=http://d.e/"),
        ("http://www.example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
        ("http://[::1]:8080/a", "/a"),
        ("/a", "/a"),
        ("//a/b/c", "/b/c"),
    ],
)
def test_what_of_a_url_is_compared(url: str, path: str) -> None:
    assert not parse(f"User-agent: *\nDisallow: {path}$", "spoor").allowed(url)


def test_marks_and_encodings() -> None:
    text = "User-agent: *\nDisallow: /é\n"
    for encoded in (
        b"\xef\xbb\xbf" + text.encode(),
        text.encode("utf-16"),
        text.encode("utf-16-le"),
        text.encode("utf-16-be"),
        text.replace(" ", "\0 ").encode(),
        b"\xfe\xff" + text.encode("utf-16-be"),
    ):
        assert not parse(encoded, "spoor").allowed(f"{H}/%C3%A9/x")
    # Bytes that are no UTF-8 stand for themselves.
    assert not parse(text.encode("latin-1"), "spoor").allowed(f"{H}/%E9")


def test_a_file_that_is_too_long_is_cut_at_a_line() -> None:
    filler = b"#" * 99 + b"\n"
    head = b"User-agent: *\nDisallow: /first\n"
    lines = (LIMIT - len(head)) // len(filler)
    cut = head + filler * lines
    body = cut + b"Allow: /first/" + b"x" * (LIMIT - len(cut)) + b"\nDisallow: /late\n"
    rules = parse(body, "spoor")
    assert not rules.allowed(f"{H}/first/")
    assert rules.allowed(f"{H}/late")


def test_crawl_delays_and_sitemaps() -> None:
    text = """
        Sitemap: /a.xml
        User-agent: spoor
        Crawl-delay: 2.5
        User-agent: *
        Crawl-delay: soon
        Crawl-delay: -1
        Crawl-delay: inf
        Disallow: /x
        sitemap: http://foo.bar/a.xml
        Site-map: ftp://foo.bar/b.xml
        Sitemap: HTTP://foo.bar/C.xml
    """
    rules = parse(text, "spoor/1.0", url=f"{H}/robots.txt")
    assert rules.crawl_delay == 2.5
    assert rules.sitemaps == (f"{H}/a.xml", f"{H}/C.xml")
    assert not rules.allowed(f"{H}/x")
    assert parse(text, "other").crawl_delay is None
    assert parse(text, "other").sitemaps == (f"{H}/a.xml", f"{H}/C.xml")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, False),
        (204, False),
        (301, True),
        (400, True),
        (401, True),
        (403, True),
        (404, True),
        (410, True),
        (429, False),
        (407, False),
        (500, False),
        (503, False),
        (0, False),
    ],
)
def test_what_an_answer_means(status: int, expected: bool) -> None:
    rules = from_reply(status, b"User-agent: *\nDisallow: /", "spoor")
    assert rules.allowed(f"{H}/page") is expected
    assert rules.allowed(f"{H}/robots.txt")


@pytest.mark.parametrize(
    ("rule", "closes"),
    [
        ("https://foo.bar/*", True),
        ("http://www.foo.bar/x", True),
        ("http://FOO.bar:8080/x", True),
        ("https://other.example/*", False),
        ("https://other.example/x", False),
        ("https://evil.example/@foo.bar/x", False),
    ],
)
def test_a_rule_that_is_a_url_holds_for_its_own_host(rule: str, closes: bool) -> None:
    rules = parse(f"User-agent: *\nDisallow: {rule}\n", "spoor", url=f"{H}/robots.txt")
    assert rules.allowed(f"{H}/x") is not closes


@pytest.mark.parametrize(
    ("name", "everyone"),
    [("*", True), ("* ", True), ("* all", True), ("*WordPress*", False), ("*bot", False)],
)
def test_only_a_star_alone_names_everyone(name: str, everyone: bool) -> None:
    rules = parse(f"User-agent: {name}\nDisallow: /\n", "spoor")
    assert rules.allowed(f"{H}/x") is not everyone


def test_hostile_files_take_linear_time() -> None:
    # Each took minutes, or gigabytes, where a step goes over the line or the agents again.
    for body in (
        b"sitemap" + b" " * LIMIT,
        b"user-agent" + b"\t" * LIMIT,
        b"user-agent: a\n" * (LIMIT // 28) + b"disallow: /\n" * (LIMIT // 24),
        b"user-agent: *\ndisallow: /" + b"*a" * (LIMIT // 2),
    ):
        rules = parse(body, "spoor")
        assert rules.allowed(f"{H}/{'a' * 8000}")


# ---------------------------------------------------------------- real files

REAL: list[tuple[str, str, dict[str, bool]]] = [
    ("rfc9309-example-simple-robots.txt", "foobot", {"/": False, "/example/page.html": True, "/example/allowed.gif": True, "/example/": False}),
    ("rfc9309-example-simple-robots.txt", "bazbot", {"/example/page.html": False, "/a.gif": True}),
    ("rfc9309-example-simple-robots.txt", "quxbot", {"/example/page.html": True, "/a.gif": True}),
    ("rfc9309-example-simple-robots.txt", "other", {"/a.gif": False, "/example/x": False, "/publications/": True, "/x": True}),
    ("rfc9309-example-longest-match-robots.txt", "foobot", {"/example/page/": True, "/example/page/disallowed.gif": False}),
    ("rfc9309-example-rule-group-merging.txt", "examplebot", {"/foo": False, "/bar": False, "/baz": False}),
    ("rfc9309-example-rule-group-merging.txt", "bazbot", {"/foo": True, "/baz": False}),
    ("crawl-delay-group-merging.txt", "mybot", {"/private/": False, "/login/": True, "/": True}),
    ("crawl-delay-group-merging.txt", "yourbot", {"/private/": False, "/login/": False, "/": True}),
    ("extensions-group-merging.txt", "mybot", {"/private/": False, "/login/": False, "/": True}),
    ("extensions-group-merging.txt", "yourbot", {"/private/": False, "/login/": False}),
    ("extensions-group-merging.txt", "other", {"/llms.txt": True, "/": False}),
    ("extension-robots.txt", "mybot", {"/private/": False, "/secret/": True}),
    ("extension-robots.txt", "other", {"/private/": True}),
    ("directive-typos-robots.txt", "bot1", {"/desallow/": False, "/dissalow/": False}),
    ("directive-typos-robots.txt", "bot2", {"/useragent/": False}),
    ("directive-typos-robots.txt", "bot3", {"/useg-agent/": False}),
    ("directive-typos-robots.txt", "bot4", {"/useragent-no-colon/": False}),
    ("format-errors-robots.txt", "bot1", {"/whitespace-before-colon/": False, "/no-colon/": False}),
    ("format-errors-robots.txt", "bot2", {"/no-colon-useragent/": False}),
    ("format-errors-robots.txt", "bot3", {"/whitespace-before-colon": True, "/x": False}),
    ("many-user-agents.txt", "wget", {"/": False}),
    ("many-user-agents.txt", "nothingofthese", {"/": True, "/bot-trap/": False}),
    ("merge-rules.txt", "wget", {"/foo/bar": True, "/tmp/bar": False, "/ckh/bar": True}),
    ("merge-rules.txt", "other", {"/foo/bar": False, "/tmp/bar": False}),
    ("precedence-of-rules.txt", "testy", {"/foo": False, "/foo/bar": True, "/foo/b": False}),
    ("precedence-of-rules.txt", "wget", {"/foo": True, "/index.html": True, "/other": False}),
    ("malformed-path.txt", "bot1", {"/wiki/Wikipedia_talk:Mediation_Committee/": False, "/wiki/": True}),
    ("wildcards.txt", "any", {"/wishlist/bogus": False, "/wishlist/universal/page": True, "/anydirectory/gcrnsts": False}),
    ("twitter.com-robots.txt", "any", {"/a?b": False, "/a/with_friends": False, "/a": True}),
    ("www.flot.com-robots.txt", "any", {"/img/": False, "/": True}),
    ("robots-with-utf8-bom.txt", "foobot", {"/profile": False, "/x/output/print": False, "/x": True}),
    ("robots-with-utf16le-bom.txt", "foobot", {"/profile": False, "/x": True}),
    ("robots-with-utf16be-bom.txt", "foobot", {"/profile": False, "/x": True}),
]  # fmt: skip


@pytest.mark.data
@pytest.mark.skipif(not FILES.exists(), reason="needs conformance/robots-cc of SPOOR_DATA")
@pytest.mark.parametrize(
    ("name", "agent", "expected"), REAL, ids=[f"{row[0]} {row[1]}" for row in REAL]
)
def test_files_of_other_crawlers(name: str, agent: str, expected: dict[str, bool]) -> None:
    rules = parse((FILES / name).read_bytes(), agent)
    assert {path: rules.allowed(H + path) for path in expected} == expected


@pytest.mark.data
@pytest.mark.skipif(not FILES.exists(), reason="needs conformance/robots-cc of SPOOR_DATA")
def test_delays_and_sitemaps_of_real_files() -> None:
    def read(name: str, agent: str) -> Rules:
        return parse((FILES / name).read_bytes(), agent, url=f"{H}/robots.txt")

    assert read("dos-line-endings.txt", "any").crawl_delay == 1
    assert read("astore.amazon.com-robots.txt", "any").crawl_delay == 5
    assert read("crawl-delay-group-merging.txt", "mybot").crawl_delay == 10
    assert read("crawl-delay-group-merging.txt", "yourbot").crawl_delay is None
    assert read("crawl-delay-group-merging.txt", "other").crawl_delay == 30
    assert read("twitter.com-robots.txt", "slurp").crawl_delay == 1
    assert len(read("sitemap-robots-dedup.txt", "any").sitemaps) == 1
    assert read("sitemap-robots.txt", "any").sitemaps[-1].endswith("MixedCased-sitemap.xml")
    assert read("relative-sitemap-robots.txt", "any").sitemaps == (f"{H}/sitemap.xml",)


# ---------------------------------------------------------------- laws

pieces = st.lists(st.sampled_from(["a", "b", "/", "*", "ab"]), max_size=5).map("".join)
pattern = st.builds(
    lambda body, end: f"/{body}{end}", pieces, st.sampled_from(["", "", "$"])
).filter(lambda rule: not rule.endswith("/index.html"))
path = st.lists(st.sampled_from(["a", "b", "/", "ab", "c"]), max_size=8).map(
    lambda parts: "/" + "".join(parts)
)


@given(st.lists(st.tuples(st.booleans(), pattern), max_size=6), path)
def test_agrees_with_protego_where_nothing_is_escaped(
    rules: list[tuple[bool, str]], path: str
) -> None:
    lines = [f"{'Allow' if allow else 'Disallow'}: {rule}" for allow, rule in rules]
    text = "\n".join(["User-agent: spoor", *lines])
    assert parse(text, "spoor").allowed(H + path) == Protego.parse(text).can_fetch(
        H + path, "spoor"
    )


@given(st.binary(max_size=400), st.text(max_size=40))
def test_nothing_raises(body: bytes, url: str) -> None:
    rules = parse(b"User-agent: *\n" + body, "spoor", url="http://h/robots.txt")
    assert rules.allowed(f"{H}/{url}") in (True, False)
    assert parse(url, "spoor").allowed(H) in (True, False)
