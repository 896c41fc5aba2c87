"""No fewer elements are counted as open than a parser has open, whatever the tags; or the limits of
what a page may cost would be none. A tag that a parser takes for text, or passes over, closes
nothing."""

from __future__ import annotations

import random
import re

import pytest
from selectolax.lexbor import LexborHTMLParser

from spoor.documents import html_bounds
from spoor.documents.html_bounds import readable
from spoor.documents.html_nesting import Nesting

NAMES = """div p span b i a nobr font li ul ol dd dt dl table tr td th tbody thead caption colgroup
col select option optgroup button form h1 h2 svg math g path mi mtext annotation-xml foreignObject
desc title style script textarea xmp iframe noscript template object marquee applet plaintext br hr
img input body html head frameset ruby rt rp rtc section center mglyph malignmark x-y em code pre
listing label image""".split()
TIMES = 60


class Watched(Nesting):
    """Keeps the most elements that were open."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 0
        SEEN.append(self)

    def start(self, name: str, attributes: str, tag: re.Match[str]) -> None:
        super().start(name, attributes, tag)
        self.most = max(self.most, len(self.names) + self.active)

    def end(self, name: str) -> bool:
        made = super().end(name)
        self.most = max(self.most, len(self.names) + self.active)
        return made


SEEN: list[Watched] = []


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_bounds, "Nesting", Watched)
    monkeypatch.setattr(html_bounds, "may_cost_much", lambda body: True)
    SEEN.clear()


def counted(source: str) -> int:
    assert readable(b"", source) == len(source)
    return SEEN.pop().most


def nested(source: str) -> int:
    """How deep a parser's tree is."""
    deepest, waiting = 0, [(LexborHTMLParser(source).root, 1)]
    while waiting:
        node, depth = waiting.pop()
        assert node is not None
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in node.iter(include_text=True)]
    return deepest


def is_enough(source: str) -> bool:
    """What stands between table and cell, and around the page, is not counted."""
    return nested(source) <= 2.2 * counted(source) + 25


@pytest.mark.parametrize(
    "tags",
    [
        "<div title='</div>'>",
        '<div title= "</div>"class=x>',
        "<div><!--</div>-->",
        "<div><!--></div><!---><!-- </div> -->",
        "<div><script></div></script>",
        "<div><script><!--<script></script></div>--></script>",
        "<div><style></div></style>",
        "<div><textarea></div></textarea>",
        "<svg><g><![CDATA[></g>]]>",
        "<div><table></div></table>",
        "<div><object></div></object>",
        "<b><marquee></b></marquee>",
        "<span><div></span></div>",
        "<span><p></span></p>",
        "<form><div></form>",
        "<em><button>",
        "<svg><foreignObject><x/>",
        "<svg><font color=red><x/>",
        "<table><tr><td><math><title><td>",
        "<math><annotation-xml><x/>",
        "<select><style></select><div></style></div>",
        "<frameset><p>",
        "<ruby><dt><rtc>",
        "<lin\u212a>",
        "<template><caption><i></template>",
        "<noscript></table><table><table></table>",
        "<b><b></nobr></b><nobr>",
        "<small><em><small></em></small>",
        "<table><colgroup><colgroup><svg></colgroup>",
        "<svg><object></svg><object/></object>",
        "<svg><g/><desc><g></desc>",
        "<p><dialog></p><dialog>",
        "<b>" + "<div>" * 20 + "</b>" + "</div>" * 20,
    ],
)
def test_what_hides_that_elements_are_open(tags: str) -> None:
    assert is_enough(tags * TIMES)
    assert is_enough(f"<!doctype html><body>{tags * TIMES}")


def test_no_tags_hide_that_elements_are_open() -> None:
    """Any tags, again and again. 300,000 such documents found nothing once it held."""
    draw = random.Random(7)
    for _ in range(1_500):
        begin = "".join(tag(draw) for _ in range(draw.choice((0, 0, 1, 2, 3))))
        again = "".join(tag(draw) for _ in range(draw.randint(1, 6)))
        source = draw.choice(("", "<!doctype html>")) + begin + again * TIMES
        assert is_enough(source), (begin, again)


def tag(draw: random.Random) -> str:
    name, other = draw.choice(NAMES), draw.choice(NAMES)
    kinds = [
        *(f"<{name}>",) * 50,
        *(f"</{name}>",) * 36,
        *(f"<{name}/>",) * 3,
        *(f"<{name} a='</{other}>'>", f'<{name} a=="></{other}>', f'<{name} a= "</{other}>"b>'),
        *(f"<!--</{name}>-->", f"<!--></{name}><!--->", f"<![CDATA[></{name}>]]>"),
        f"<script><!--<script></script></{name}>--></script>",
        *("x", "<font color=x>", "<annotation-xml encoding='text/html'>"),
    ]
    return draw.choice(kinds)


@pytest.mark.parametrize(
    "tags",
    [
        "<div><p>words<ul><li>one<li>two</ul></div>",
        "<table><tr><td>a<td><div>b</table>",
        "<p><b>words<p>words</b>",
        "<dl><dt>a<dd>b<dt>c</dl>",
        "<select><option>a<option>b</select>",
        "<svg><g><path d='M 0 0'/></g></svg>",
        "<a name=x><p>words",
        "<table><tr><td><b>words</table>",
        "<math><mi>x</mi></math><br><img src=x><hr>",
        "<script>if (a < b) document.write('<div><div>')</script>",
        "<ruby>a<rt>b</ruby>",
        "<form><input><select><option>x</select></form>",
        "<h2>a</h3>",
    ],
)
def test_an_honest_page_is_counted_as_it_is(tags: str) -> None:
    """What ends by itself ends here, too."""
    assert counted(tags * 300) <= 12
