"""Documents of any kind: what they become, and how their kind is told."""

from __future__ import annotations

import io
import re
import sys
import time
import zipfile
from functools import cache
from pathlib import Path
from typing import SupportsIndex

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import document_makers
from document_makers import AUTHOR, LINK, MAKERS, TITLE
from spoor.documents.document import Document, Limits, Unreadable
from spoor.documents.errors import UnreadableError
from spoor.documents.extract import extract
from spoor.documents.html import read_html
from spoor.documents.kinds import KINDS, Types, kind_of_media, tell
from spoor.documents.links import Links
from spoor.errors import InputError
from spoor.isolate import helper_pool, parsing
from spoor.isolate.parsing import parse_page
from spoor.runs.assemble import judge_and_topic
from spoor.setting import DOCUMENT_KINDS
from spoor.settings import Settings

URL = "http://docs.example/a"
WORDS = "The zanzibar kiln was lit in spring, and its fire burnt for nine days. " * 5
LIES = ("", "application/octet-stream", "text/html", "image/png", "application/pdf", "text/plain")


@cache
def body_of(kind: str) -> bytes:
    return MAKERS[kind][0](WORDS)


@pytest.mark.parametrize("kind", MAKERS)
def test_what_a_document_becomes(kind: str) -> None:
    read = extract(MAKERS[kind][1], URL, body_of(kind))
    assert isinstance(read, Document)
    assert read.kind == kind
    assert "zanzibar kiln was lit" in read.text
    assert LINK in [link.url for link in read.links]
    if kind != "text":  # it says nothing of itself
        assert (read.title, read.language) == (TITLE, "en-GB")
    if kind not in ("text", "xml"):
        assert read.author.startswith(AUTHOR)
        assert read.date[:4] in ("2024", "2000") or kind == "xlsx"
    if kind not in ("text", "xml", "json"):
        assert read.headings == ("Of fire",)
        assert {block.headings for block in read.blocks if "zanzibar" in block.text} == {
            ("Of fire",)
        }
    for block in read.blocks:
        assert read.text[block.begin : block.begin + len(block.text)] == block.text
    few = extract(MAKERS[kind][1], URL, body_of(kind), Limits(characters=40))
    assert isinstance(few, Document)
    assert len(few.text) <= 40
    assert few.notes


MARKS = ["`", "``", "\\", "x", " ", "*", "[", "](javascript:a)", "&lt;img src=x onerror=a&gt;"]
TAGS = ["", "code", "kbd", "b", "a href='http://docs.example/`&lt;img src=x&gt;`'", "a"]


@given(st.lists(st.tuples(st.sampled_from(TAGS), st.lists(st.sampled_from(MARKS), min_size=1))))
@example([("code", ["x"]), ("code", ["`", MARKS[-1], "`"])])
def test_text_stays_text_in_markdown(pieces: list[tuple[str, list[str]]]) -> None:
    """However its pieces follow one another: by CommonMark there is no HTML, and no other link."""
    inner = ""
    for tag, marks in pieces:
        text = "".join(marks)
        inner += f"<{tag}>{text}</{tag.split()[0]}>" if tag else text
    read = extract("text/html", URL, f"<p>{WORDS}{inner}\x1b[2J".encode())
    assert isinstance(read, Document)
    assert "\x1b" not in read.text + read.markdown
    for block in MarkdownIt("commonmark", {"html": True}).parse(read.markdown):
        assert block.type != "html_block"
        for token in block.children or ():
            assert token.type not in ("html_inline", "image")
            assert str(token.attrGet("href") or "http://docs.example").startswith("http://docs")


@pytest.mark.parametrize("query", ["\\", "![](//e)\\", "a=&lt;b", "a=&colon;&copy=1", "(_x_*"])
def test_no_address_ends_its_link_in_markdown(query: str) -> None:
    """A backslash is not escaped in a query: it took the end of a link away."""
    html = f"<p>{WORDS}<a href='/?{query.replace('&', '&amp;')}'>link</a> and more</p>"
    read = extract("text/html", URL, html.encode())
    assert isinstance(read, Document)
    (block,) = (one for one in MarkdownIt().parse(read.markdown) if one.type == "inline")
    (link,) = (token for token in block.children or () if token.type == "link_open")
    wanted = f"http://docs.example/?{query}".replace("\\", "%5C")
    assert link.attrGet("href") == MarkdownIt().normalizeLink(wanted)
    assert not any(token.type == "image" for token in block.children or ())


@pytest.mark.parametrize(
    ("written", "markdown"),
    [
        ("<code><a href='/m'>MVar</a></code>", "[`MVar`](http://h.example/m)"),
        ("<a href='/m'><code>f*</code></a>", "[`f*`](http://h.example/m)"),
        ("<code><a href='/m'>MVar</a> t</code> and <code>MVar</code>", "`MVar t` and `MVar`"),
        ("<code>--to=<i>x</i> <b>y</b></code>", "`--to=x y`"),
        ("<tt><b><a href='/m'>get</a></b></tt>", "[`get`](http://h.example/m)"),
    ],
)
def test_markup_within_code_is_words(written: str, markdown: str) -> None:
    read = extract("text/html", "http://h.example/", f"<p>{WORDS} {written}".encode())
    assert isinstance(read, Document)
    assert read.markdown.endswith(f" {markdown}")


def test_what_generators_of_documentation_add_is_no_text() -> None:
    """Links of headings to themselves, by a sign or a picture of a font, and navigation that is named as such."""
    ways = "<div class='navheader'><table><tr><td>Prev<td>Up<tr><td>a<td>b</table></div>"
    listing = (
        "<div class='fragment'><div class='line'><span class='lineno'>    1</span>int x;</div>"
        "<div class='line'><span class='lineno'>    2</span>  return&#160;x;</div></div>"
    )
    source = (
        f"{ways}<main><h1>Kilns<a class='headerlink' href='#kilns'>¶</a>"
        f"<a class='headerlink' href='#kilns'><i>\uf0c1</i></a>"
        f"<a class='hash-link' href='#kilns'>\u200b</a></h1><p>{WORDS}{listing}"
        "<ul><li><ul><li><h4>fire</h4><li>It burns.<ul><li>Hot.</ul><li>Long.</ul></ul>"
        "<p role='navigation'>Next: Ovens</p></main>"
    )
    read = read_html("text/html", URL, source.encode(), Limits(), whole=True)
    assert read.markdown.startswith("# Kilns\n\n")
    assert "```\nint x;\n  return x;\n```" in read.markdown
    assert read.markdown.endswith("#### fire\n\n- It burns.\n    - Hot.\n- Long.")


def test_a_section_that_a_program_made_is_content_whatever_its_heading_says() -> None:
    """An id of the words of a heading makes no box of related pages; and to the end of the section of a title
    all is content, notes and tables too."""
    part = f"<p>{WORDS}</p>"
    api = "<dl><dt>int <a href='x.html'>fire</a>(void)</dt><dd><p>It burns.</p></dd></dl>"
    rows = "<table><tr><th>wood</th><th>heat</th></tr><tr><td>oak</td><td>1,200</td></tr></table>"
    source = f"""<div class=doc><section id="kilns-of-old"><h1>Kilns of old</h1>{part}
        <section id="share-of-heat"><span id="heat"></span><h2>3. Share of heat<a href="#share-of-heat">¶</a></h2>{part}</section>
        <section id="fire-related-functions"><h2>Fire-related functions</h2>{api}{rows}
        <aside class="footnote"><p>A note on fire.</p></aside></section></section>
        <div id="comments"><h2>Comments</h2><div><p>What a fine text this is, said a reader.</p></div></div></div>"""
    markdown = read_html("text/html", URL, source.encode(), Limits(comments=False)).markdown
    for line in ("# Kilns of old", "## 3. Share of heat", "## Fire-related functions"):
        assert f"{line}\n" in markdown
    for words in ("fire", "It burns.", "| oak | 1,200 |", "A note on fire."):
        assert words in markdown
    assert "a reader" not in markdown


def test_names_of_code_stay_beside_what_describes_them() -> None:
    """As Javadoc has them: cells of a table of `div`, deep in a section whose heading alone stands beside text."""
    cells = "".join(
        f"<div class=first><code><a href='{name}.html'>{name}()</a></code></div><div class=last><div class=block>{says}</div></div>"
        for name, says in (("fire", "Burns the wood."), ("glaze", "Melts."))
    )
    menu = "<div><div><div><div><div><a href='x.html'>More of our kilns and wheels</a></div></div></div></div></div>"
    source = f"""<div><h1>Kilns</h1><p>{WORDS}</p><div class=summary><h2>Methods</h2><div><div><div>{cells}</div></div></div></div>
        {menu}<h2>Details</h2><p>{WORDS}</p></div>"""
    markdown = read_html("text/html", URL, source.encode(), Limits()).markdown
    assert re.search(r"## Methods\s+\[`fire\(\)`\]\(\S+\)\s+Burns the wood\.\s+\[`glaze", markdown)
    assert "our kilns" not in markdown


@pytest.mark.parametrize(
    "code",
    [
        "let x = 1;\n\n  f(x);",
        '<code><span class="token-line">let <b>x</b> = 1;<br></span><span class="token-line"><br></span>'
        '<span class="token-line">  f(x);<br></span></code>',
        '<code><div class="ec-line"><div class="code">let x = 1;</div></div><div class="ec-line">'
        '<div class="code">\n</div></div><div class="ec-line"><div class="code">  f(x);</div></div></code>',
        "<code><ol><li>let x = 1;</li><li>\n</li><li><i>  f(</i>x);</li></ol></code>",
    ],
    ids=["plain", "prism", "expressive-code", "list"],
)
def test_code_keeps_its_lines_whoever_coloured_it(code: str) -> None:
    source = f"<main><h1>Kilns</h1><p>{WORDS}</p><pre>{code}</pre><p>{WORDS}</p></main>"
    read = read_html("text/html", URL, source.encode(), Limits(), whole=True)
    assert "```\nlet x = 1;\n\n  f(x);\n```" in read.markdown


def test_a_link_past_the_menus_is_no_content_and_one_to_a_part_is() -> None:
    def first_of(href: str) -> str:
        body = f"<div><a href='{href}'>There</a></div><div id='top'><h1 id='title'>Kilns</h1><p>{WORDS}</p>"
        source = f"{body}<p id='part'>It burns.</p></div>"
        read = read_html("text/html", URL, source.encode(), Limits(), whole=True)
        return read.markdown.partition("\n")[0]

    assert first_of("#top") == first_of("#title") == "# Kilns"
    assert first_of("#part") == first_of("#none") == first_of("#") == first_of("#']") == "There"
    title = f"<div id='top'><h1><a href='#top'>Kilns</a> of old</h1><p>{WORDS}</p></div>"
    read = read_html("text/html", URL, title.encode(), Limits(), whole=True)
    assert read.markdown.partition("\n")[0] == "# Kilns of old", "a title may lead to its section"


def test_what_stands_between_content_is_content() -> None:
    """Whatever its class or id; but not what is links."""
    source = (
        f"<div><p>{WORDS}</p><section id='related-options'><h2>Related options</h2>"
        "<ul><li>The damper closes the flue by hand.<li><a href='/x'>All other options of it</a></ul>"
        f"</section><p>{WORDS}</p></div><div class='related'><p>Nothing beside it is content.</div>"
    )
    read = extract("text/html", URL, source.encode())
    assert isinstance(read, Document)
    assert "## Related options\n\n- The damper closes the flue by hand." in read.markdown
    assert "All other options" not in read.text
    assert "Nothing beside" not in read.text


def test_an_anchor_that_leads_nowhere_is_no_link() -> None:
    """XHTML ends one at once; HTML does not, and all that follows would be its text."""
    sections = "".join(f"<h2><a id='s{at}'/>Part {at}</h2><p>{WORDS}</p>" for at in range(2))
    sections += f"<h2><a href='#s2'>Part 2</a></h2><p><a href='/a#s0'>Above</a>: {WORDS}</p>"
    read = extract("text/html", URL, f"<h1>Kilns</h1><p>{WORDS}{sections}".encode())
    assert isinstance(read, Document)
    assert read.text.count(WORDS.strip()) == 4
    assert "](" not in read.markdown


def test_the_lists_of_a_plain_page_are_its_text() -> None:
    source = f"<h1>Kilns</h1><p>{WORDS}<ul><li>{WORDS}<li>Wood is fired last.</ul><p>{WORDS}"
    read = extract("text/html", URL, source.encode())
    assert isinstance(read, Document)
    assert "- Wood is fired last." in read.markdown


def test_the_header_of_a_site_is_no_content_and_that_of_a_text_is() -> None:
    """With a menu and without a title, above the text; not where all is to be read."""
    menu = "<p>Your basket of pots is empty, as it was.</p><nav><a href=/>Home</a></nav>"
    text = f"<h1>Kilns</h1><p>{WORDS}</p><p>{WORDS}</p>"

    def has_it(body: str, *, whole: bool = False) -> bool:
        source = f"<body>{body}".encode()
        return "basket" in read_html("text/html", URL, source, Limits(), whole=whole).text

    site = f"<header><div>{menu}</div></header>{text}"
    assert has_it(f"<div><div>{menu}</div></div>{text}")
    assert not has_it(site)
    assert has_it(site, whole=True)
    assert has_it(f"<header>{menu}<h1>Kilns</h1></header><p>{WORDS}</p><p>{WORDS}</p>")


@pytest.mark.parametrize("of", ["<div class='navigation'>", "<body class='navbar'>"])
def test_navigation_that_is_the_page_is_its_text(of: str) -> None:
    read = extract("text/html", URL, f"{of}<h1>Kilns</h1><p>{WORDS}".encode())
    assert isinstance(read, Document)
    assert WORDS.strip() in read.text


def test_boilerplate_goes_and_tables_and_code_stay() -> None:
    source = (
        "<title>t</title><nav><a href=/>Home</a></nav><main><h1>Kilns &amp; co</h1><p>A kiln is a "
        "<b>furnace </b>for <a href='/clay'>burning</a> clay &lt;b&gt; with <code>x*y</code>. It is old"
        ", and people all over the world have built it.</p><table><tr><th>Name<th>Heat|C<tr><td>"
        "Bottle<td>1200</table><ol start=3><li>a long first point of the list that is here</ol><pre>"
        "<code class='language-python'>def f(x):\n    return x</code></pre><blockquote>Words of "
        "somebody else, said long ago</blockquote></main><footer>Copyright</footer>"
    )
    read = extract("text/html", URL, source.encode())
    assert isinstance(read, Document)
    assert read.markdown == (
        "# Kilns & co\n\nA kiln is a **furnace** for [burning](http://docs.example/clay) clay \\<b> "
        "with `x*y`. It is old, and people all over the world have built it.\n\n"
        "| Name | Heat\\|C |\n| --- | --- |\n| Bottle | 1200 |\n\n"
        "3. a long first point of the list that is here\n\n"
        "```python\ndef f(x):\n    return x\n```\n\n> Words of somebody else, said long ago"
    )


@pytest.mark.parametrize("kind", MAKERS)
def test_a_kind_is_told_by_the_bytes(kind: str) -> None:
    as_text = {"text": {"text", "html"}, "markdown": {"markdown", "text", "html"}}
    for header in (*LIES, MAKERS[kind][1]):
        told = tell(body_of(kind), header, URL)
        assert told.kind in as_text.get(kind, {kind})
        assert (
            told.kind in as_text or KINDS[told.kind].media_type.partition("/")[0] in told.media_type
        )
    assert tell(body_of(kind), MAKERS[kind][1]).kind == kind
    assert Types().takes(tell(body_of(kind)[:2_048], "application/octet-stream"))


def test_a_picture_with_metadata_is_no_feed() -> None:
    metadata = b"<metadata><rdf:RDF><cc:Work><dc:title>Matplotlib</dc:title></cc:Work></rdf:RDF>"
    picture = b'<?xml version="1.0"?><svg width="9pt">' + metadata + b"</metadata></svg>"
    assert tell(picture, "image/svg+xml").kind == "image"
    assert tell(b"<rdf:RDF><channel><title>News</title></channel></rdf:RDF>", "").kind == "feed"


@pytest.mark.parametrize("kind", MAKERS)
def test_no_header_makes_a_document_of_another_type(kind: str) -> None:
    """By its type it is wanted, counted, and named as a file."""
    for header in ("", "application/octet-stream", "image/png", "application/x-unknown"):
        read = extract(header, URL, body_of(kind))
        assert isinstance(read, Document)
        assert kind_of_media(read.media_type) == read.kind
    lied = extract("application/pdf", URL, body_of("text"))
    assert (lied.kind, getattr(lied, "media_type", "")) == ("text", "text/plain")
    table = extract("text/csv; charset=utf-8", URL, b"a,b\n1,2\n")
    assert (table.kind, getattr(table, "media_type", "")) == ("text", "text/csv")


def test_a_workbook_inside_a_presentation_makes_it_no_workbook() -> None:
    whole = io.BytesIO(body_of("pptx"))
    with zipfile.ZipFile(whole, "a") as file:
        file.writestr("ppt/embeddings/chart.xlsx", body_of("xlsx"))
    assert tell(whole.getvalue(), "").kind == "pptx"


def test_an_epub_in_another_order_is_one() -> None:
    """As Debian's `policy.epub` is."""
    whole = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(body_of("epub"))) as source,
        zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in sorted(source.namelist()):
            target.writestr(name, source.read(name))
    assert not whole.getvalue()[30:].startswith(b"mimetype")
    for header in ("", "application/zip"):
        read = extract(header, URL, whole.getvalue())
        assert isinstance(read, Document)
        assert (read.kind, bool(read.text)) == ("epub", True)


def test_what_has_no_text_is_taken_on_request() -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"\0" * 50
    archive = document_makers.zipped({"a.txt": b"x"})
    for body, kind, media in (
        (png, "image", "image/png"),
        (archive, "archive", "application/zip"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\3", "archive", "application/x-gzip"),
        (b"ID3\3\0\0\0\0\0\x21", "audio", "audio/mpeg"),
        (b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41", "video", "video/mp4"),
        (b"\0\1\2\3" * 9, "other", "application/octet-stream"),
    ):
        for header in ("", "text/html", "application/pdf", media):
            told = tell(body, header)
            assert told.kind == (
                "html" if kind == "other" and header in ("", "text/html") else kind
            )
            if told.kind == kind:
                assert not Types().takes(told)
    wanted = Types.of(Settings(want=("type:application/zip",), type_limits=("archive=9",)))
    assert wanted.takes(tell(archive, ""))
    assert not wanted.takes(tell(png, ""))
    assert (wanted.most("archive"), wanted.most("html")) == (9, 10 << 20)
    assert Types.of(Settings(types=("image,pdf",))).taken == ("image", "pdf")
    assert set(KINDS) == set(DOCUMENT_KINDS)


_HTML = [
    *("<b>", "</b>", "<br/>", "<img src=x onerror=a()", "<script>", "</script>", "<!--", "-->"),
    *("<!DOCTYPE x>", "<?x?>", "<![CDATA[", "]]>", "<a href='b", "'>", "<", ">", "`", "``", "\\"),
    *("kiln", " ", "\n", "\n\n", "# ", "- ", "> ", "|", "\n|-|\n", "    ", "```\n", "==\n"),
    *("[a](", "](", ")", '"', "\n> `", "\x85"),
]


@given(st.lists(st.sampled_from(_HTML), max_size=14))
@example(["\\", "`", "<b>", "`"])
def test_html_within_markdown_is_not_written(pieces: list[str]) -> None:
    """What a page's Markdown hides from its readers, a reader of the export would run."""
    read = extract("text/markdown", URL, f"kiln {''.join(pieces)}".encode())
    assert isinstance(read, Document)
    for block in MarkdownIt("commonmark", {"html": True}).enable("table").parse(read.markdown):
        kinds = {one.type for one in [block, *(block.children or ())]}
        assert not kinds & {"html_block", "html_inline"}, read.markdown


@pytest.mark.parametrize(
    "source",
    [
        "[a](`) <i> `",  # a target, not code
        "[a]( ` ) <i> `",
        '[a](b "x) `") <i> `',
        "kiln ](<b>`) <i> `",  # a target once the tag is gone
        "\x85```\n\x85x\n\r    <i>",  # code once the blank is gone, which ends with the next
        "> `a\n> ```\n> x\n> ```\n> <i>`",  # a block ends what would be code
        "> `a\n> b` <i> `",
        '> [x]: /u "`"\n> <i> `',  # a definition ends with its line
    ],
)
def test_what_only_looks_like_code_keeps_no_tag(source: str) -> None:
    read = extract("text/markdown", URL, source.encode())
    assert isinstance(read, Document)
    for block in MarkdownIt("commonmark", {"html": True}).enable("table").parse(read.markdown):
        kinds = {one.type for one in [block, *(block.children or ())]}
        assert not kinds & {"html_block", "html_inline"}, read.markdown


def test_ticks_are_code_where_they_are() -> None:
    body = (
        b"[a](x) `<b>` and ``` <i> ``` and `\\` aren`t\n\n"
        b"``` <u> ``` begins a line\n\n> Note\n> ```js\n> a < b\n> ```\n> end\n"
    )
    read = extract("text/markdown", URL, body)
    assert isinstance(read, Document)
    said = "a <b> and <i> and \\ arent", "<u> begins a line", "Note", "a < b", "end"
    assert read.text == "\n\n".join(said)
    assert "`<b>` and ``` <i> ``` and `\\` aren\\`t" in read.markdown


def test_markdown_with_html_says_what_its_readers_see() -> None:
    body = (
        b'<div align="center"><a href="/doc?a=1&amp;b=2">The <b>manual</b></a></div>\n\n'
        b"<!-- no\n\nkiln -->\nFire<br>`<b>` if a < b <https://a.example/>\n"
    )
    read = extract("text/markdown", "http://docs.example/a.md", body)
    assert isinstance(read, Document)
    assert read.text == "The manual\n\nFire <b> if a < b <https://a.example/>"
    assert read.markdown == "The manual\n\nFire `<b>` if a \\< b <https://a.example/>"
    links = ["https://a.example/", "http://docs.example/doc?a=1&b=2"]
    assert sorted(link.url for link in read.links) == sorted(links)


@given(st.sampled_from([*MAKERS]), st.data())
@settings(max_examples=60, deadline=None)
def test_nothing_that_a_document_holds_raises(kind: str, data: st.DataObject) -> None:
    if kind == "pdf":  # PDFium is asked in a helper only
        kind = "epub"
    body = bytearray(body_of(kind))
    for _ in range(data.draw(st.integers(0, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    read = extract(MAKERS[kind][1], URL, bytes(body[:cut]))
    assert isinstance(read, Document | Unreadable)


def test_hostile_documents_cost_one_document_each() -> None:
    for name, (media, body, reason) in document_makers.hostile().items():
        if not body:
            continue  # the driver sees to that
        with pytest.raises(UnreadableError, match=reason):
            parse_page(body, f"http://docs.example/{name}", content_type=media)
    many = document_makers.long_pdf(10_000)
    page = parse_page(many, URL, content_type="text/html")
    assert page.content_type == "application/pdf"
    assert page.flags == {"not-html", "truncated"}
    assert page.text.split().count("kiln") == 2_000
    read = parsing.extract("", URL, many)
    assert isinstance(read, Document)
    assert read.notes == ("cut after 2000 of 10000 pages",)
    helper = helper_pool._documents.helper
    assert helper is not None
    status = Path("/proc", str(helper._process.pid), "status").read_text("ascii")
    most = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(most.split()[1]) < 200_000


@pytest.mark.parametrize(
    "source",
    [
        "# " + " " * 60_000 + "x",
        "[a](" * 15_000,
        "|" * 60_000 + " x",
        "---\n" * 15_000,
        "---\na:" + " " * 60_000 + "\n---\n",
        "http://a.b/" + "(" * 60_000,
        "*_" * 30_000,
        "\n \n" * 20_000,
    ],
)
def test_markdown_is_read_in_linear_time(source: str) -> None:
    began = time.process_time()
    assert isinstance(extract("text/markdown", URL, source.encode()), Document | Unreadable)
    assert time.process_time() - began < 10  # quadratic: minutes


@pytest.mark.parametrize("kind", ["text/plain", "text/markdown"])
def test_parts_of_a_letter_have_a_bound(kind: str) -> None:
    read = extract(kind, "http://docs.example/", b"a\n\n" * 350_000)
    assert isinstance(read, Document)
    assert (len(read.blocks), read.notes) == (100_000, ("cut after 100000 parts",))


@pytest.mark.parametrize(
    ("wanted", "module", "message"),
    [
        (Settings(want=("type:application/pdf",)), "pypdfium2", "A PDF file needs .*[pdf]"),
        (Settings(want=("type:pdf",)), "pypdfium2", "A PDF file needs .*[pdf]"),
        (
            Settings(want=(f"type:{KINDS['xlsx'].media_type}",)),
            "openpyxl",
            "An xlsx file needs .*[documents]",
        ),
        (Settings(topic="kiln lang:de"), "py3langid", "lang: needs .*[language]"),
    ],
)
def test_a_wish_that_needs_a_missing_extra_is_refused_before_the_crawl(
    wanted: Settings, module: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge_and_topic(wanted)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        judge_and_topic(wanted)
    judge_and_topic(Settings(topic="kiln", want=("type:application/*",)))


def test_a_pdf_without_its_reader_says_which_extra_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    monkeypatch.delitem(sys.modules, "spoor.documents.pdf", raising=False)
    read = extract("application/pdf", "http://h/a.pdf", b"%PDF-1.4\n")
    assert isinstance(read, Unreadable)
    assert read.reason == "A PDF file needs an extra: pip install 'spoor-crawler[pdf]'"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("&#xD83D;&#xDE00;", "😀"),
        ("&#55357;&#56832;", "😀"),
        ("&#xDE00;&#xD83D;", "��"),
        ("&#x110000;", "�"),
        ("&#X0000000000E9;&#xE9;", "éé"),
        (f"&#{'9' * 5_000};", "�"),
        ("&#0;&#11;", "��"),
    ],
)
def test_references_to_no_character_cost_no_document(
    encoding: str, written: str, read: str
) -> None:
    """An emoji as two references is what broken writers of feeds make of it."""
    items = "".join(
        f"<item><title>Kiln {number}{written}</title><link>http://docs.example/{number}</link></item>"
        for number in range(3)
    )
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    for name, body in (
        ("rss", f'<rss version="2.0"><channel><title>Kilns</title>{items}</channel></rss>'),
        ("list", f"<list>{items}</list>"),
    ):
        document = extract("application/xml", URL, (head + body).encode(encoding))
        assert isinstance(document, Document), document
        links = [link.url for link in document.links if link.url[-1:].isdigit()]
        assert links == [f"http://docs.example/{number}" for number in range(3)], name
        assert f"Kiln 1{read}" in document.text, name


def test_urls_in_a_text_are_found_in_time_that_grows_with_it() -> None:
    """All that follows was copied for each of them."""
    read = list[int]()

    class Noted(str):
        def __getitem__(self, place: SupportsIndex | slice) -> str:
            found = super().__getitem__(place)
            read.append(len(found))
            return found

    links = Links(URL, 10_000)
    links.add_bare(Noted("see http://a.example/b for it " * 1_000))
    (link,) = links
    assert (link.url, link.anchor.after[:6]) == ("http://a.example/b", "for it")
    assert sum(read) <= 1_000 * 400


def test_metadata_has_no_control_characters() -> None:
    """Many a database takes no text with a NUL, nor does who tells it a line of a watch."""
    read = extract(
        "application/json", "http://a.test/", b'{"title": "a\\u0000b", "text": "c\\u0001"}'
    )
    assert isinstance(read, Document)
    assert (read.title, read.text[-2:]) == ("a�b", "c�")


@pytest.mark.parametrize(
    ("footer", "licence"),
    [
        ("© 2026 Ada. Licensed under the <a href=/l/2>Apache License, Version 2.0</a>", "/l/2"),
        ("This page is licensed under the Potters License Version 2.1.<br>Code: MIT", "Potters"),
        ("Content is available under <a href=/by>CC BY 4.0</a> unless noted", "/by"),
        ("A blog. The theme is licensed under the <a href=/mit>MIT License</a>", ""),
        ("Our app is available under Downloads in your account", ""),
    ],
)
def test_the_licence_that_a_footer_says(footer: str, licence: str) -> None:
    page = f"<main><p>{WORDS}<p>Gas is licensed under the Kiln License</main><footer>{footer}"
    read = extract("text/html", URL, page.encode())
    assert isinstance(read, Document)
    whole = {"": "", "Potters": "Potters License Version 2.1"}
    assert read.licence == whole.get(licence, f"http://docs.example{licence}")


@pytest.mark.parametrize("caption", ["Kilns in C#", "Kilns<a href=#t class=headerlink>¶</a>"])
def test_the_link_of_a_caption_to_itself_is_no_text(caption: str) -> None:
    table = f"<table id=t><caption>{caption}</caption><tr><th>A<th>B<tr><td>1<td>2</table>"
    read = extract("text/html", URL, f"<main><p>{WORDS}{table}".encode())
    assert isinstance(read, Document)
    assert f"\n\n{caption.partition('<')[0]}\n\nA" in read.text
