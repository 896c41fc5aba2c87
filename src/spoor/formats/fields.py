"""Fields of an HTML page: values by CSS selector or XPath, JSON-LD, microdata, and tables.

A value that the page does not have is None, never guessed. Selectors are those of parsel (`::text`,
`::attr(name)`), microdata are read by extruct.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from spoor.distribution import import_extra
from spoor.errors import InputError
from spoor.formats.exporters.columns import RESERVED
from spoor.web.encoding import decode

MOST = 100
"""Values of one field."""

MOST_CHARACTERS = 1 << 20
"""Of one value, and of the values of one field together."""

MOST_SOURCE = 1 << 22
"""Characters of HTML that are read."""

MOST_TABLES = 300
MOST_ROWS = 10_000
MOST_COLUMNS = 100
"""Of a page, and of a table."""

MOST_ITEMS = 3_000
"""Items and properties of microdata: reading them takes time in the square of their number."""

_MARKS = re.compile("itemscope|itemprop", re.IGNORECASE)

_NAME = re.compile(r"[^\W\d]\w{0,62}")


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A column of an export that a selector fills."""

    name: str
    selector: str
    """CSS, or XPath after `xpath:`."""
    many: bool = False
    """All values, not only the first."""

    @property
    def column(self) -> str:
        """The kind of its column."""
        return "list<string>" if self.many else "string"


def field_specs(specs: Sequence[str]) -> list[FieldSpec]:
    """The fields of `NAME=CSS`, `NAME=xpath:XPATH`, and `NAME[]=…` for all values. Raises
    InputError for what is none, for a name that a column has, and for a selector that cannot be
    read."""
    found: dict[str, FieldSpec] = {}
    for spec in specs:
        name, equals, selector = spec.partition("=")
        many, name = name.endswith("[]"), name.removesuffix("[]").strip()
        if not equals or not _NAME.fullmatch(name) or not selector.strip():
            raise InputError(
                f"--field {spec!r} is none; write NAME=CSS, as in price=.price, or "
                "NAME=xpath://EXPRESSION; NAME[]=… takes all values"
            )
        if name.casefold() in RESERVED | {other.casefold() for other in found}:
            raise InputError(f"--field {spec!r}: there is a column {name!r} already; take another")
        found[name] = FieldSpec(name, selector.strip(), many)
        values_of("<p>", [found[name]])  # a selector that cannot be read is told now
    return list(found.values())


def values_of(html: str, specs: Sequence[FieldSpec]) -> dict[str, Any]:
    """The value of each field of a page: text (of an element all of it), a list of them for `many`;
    None where nothing matches. Raises InputError for a selector that cannot be read, and without
    the extra."""
    if not specs:
        return {}
    parsel, lxml = import_extra("fields", "--field", "parsel", "lxml.etree")
    # Without huge_tree libxml2 stops at 256 elements inside one another.
    parser = lxml.HTMLParser(recover=True, huge_tree=False, no_network=True, encoding="utf-8")
    source = html[:MOST_SOURCE].replace("\0", "").encode("utf-8", "replace")
    tree = lxml.fromstring(source or b"<p>", parser)
    if tree is None:  # nothing but comments
        return dict.fromkeys((spec.name for spec in specs), None)
    root = parsel.Selector(root=tree, type="html")
    return {spec.name: _value(root, spec) for spec in specs}


def _value(root: Any, spec: FieldSpec) -> Any:
    try:
        if spec.selector.startswith("xpath:"):
            found = root.xpath(spec.selector.removeprefix("xpath:"))
        else:
            found = root.css(spec.selector)
    except Exception as error:  # parsel's, cssselect's or lxml's: their errors have no one kind
        raise InputError(
            f"--field {spec.name}: {spec.selector!r} cannot be read: {error}"
        ) from None
    values: list[str] = []
    room = MOST_CHARACTERS
    for match in found[: MOST if spec.many else 1]:
        text = _text(match)[:room]
        room -= len(text)
        if text:
            values.append(text)
    if spec.many:
        return values or None
    return values[0] if values else None


def _text(match: Any) -> str:
    root = match.root
    if isinstance(root, str):
        text = root
    elif hasattr(root, "itertext"):
        text = "".join(root.itertext())
    else:  # a number or a truth value, as XPath computes them
        text = str(root)
    return " ".join(text.split())


def stated(
    body: bytes,
    *,
    url: str,
    content_type: str,
    names: Sequence[str],
    selectors: Sequence[Sequence[Any]],
) -> dict[str, Any]:
    """What an HTML page states, for `spoor.isolate.helper_pool.bounded`: of `names`, any of
    `json_ld`, `microdata` and `tables`, each by itself; under `fields` those of `selectors` (the
    values of `FieldSpec`s)."""
    html = decode(body, content_type)[0]
    read: Mapping[str, Callable[[], Any]] = {
        "json_ld": lambda: json_ld(html),
        "microdata": lambda: microdata(html, url),
        "tables": lambda: tables_of(html),
    }
    specs = [FieldSpec(*values) for values in selectors]
    return {name: read[name]() for name in names} | {"fields": values_of(html, specs)}


def json_ld(html: str) -> list[Any] | None:
    """The objects that a page states as JSON-LD, as they stand there; None where it states none
    that can be read. Numbers that JSON does not have (`NaN`, `1e999`) are None."""
    found: list[Any] = []
    for script in LexborHTMLParser(html[:MOST_SOURCE]).css('script[type="application/ld+json" i]'):
        with suppress(ValueError, RecursionError):
            stated = json.loads(
                script.text(), strict=False, parse_float=_finite, parse_constant=_finite
            )
            found += stated if isinstance(stated, list) else [stated]
    return found[:MOST] or None


def require_microdata() -> None:
    """Raises InputError without the extra that reads microdata."""
    import_extra("fields", "Microdata", "extruct.w3cmicrodata")


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def microdata(html: str, url: str) -> list[Any] | None:
    """The items that a page states as microdata: `type`, `properties`; None where it states none,
    or more than `MOST_ITEMS`. Raises InputError without the extra."""
    (module,) = import_extra("fields", "Microdata", "extruct.w3cmicrodata")
    marks = len(_MARKS.findall(html))
    if not marks or marks > MOST_ITEMS:
        return None
    try:
        return module.MicrodataExtractor().extract(html[:MOST_SOURCE], base_url=url) or None
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None  # of a page that is broken in a way that the library did not foresee


def tables_of(html: str) -> list[Any] | None:
    """The tables of a page: {`caption`, `rows`}, each row its cells' texts, a cell that spans
    several standing in each of them; None where it has none. Tables that only arrange the page
    (`role=presentation`, or with tables in them) are none; so are those of a page that has more
    than `MOST_TABLES`."""
    if html.lower().count("<table") > MOST_TABLES:
        return None
    found: list[Any] = []
    room = MOST_CHARACTERS
    for table in LexborHTMLParser(html[:MOST_SOURCE]).css("table"):
        if table.attributes.get("role") in ("presentation", "none") or table.css_first(
            "table table"
        ):
            continue
        caption = table.css_first("caption")
        rows = _rows(table)
        room -= sum(len(cell) for row in rows for cell in row)
        if room < 0:
            break
        if rows:
            found.append({"caption": _words(caption) if caption else None, "rows": rows})
    return found or None


def _rows(table: LexborNode) -> list[list[str]]:
    rows: list[list[str]] = []
    below: dict[int, tuple[int, str]] = {}
    """Column → rows that a cell above still fills, and its text."""
    for line in table.css("tr")[:MOST_ROWS]:
        row: list[str] = []
        cells = iter(line.css("td, th"))
        while len(row) < MOST_COLUMNS:
            left, text = below.get(len(row), (0, ""))
            if left:
                below[len(row)] = (left - 1, text)
                row.append(text)
                continue
            cell = next(cells, None)
            if cell is None:
                if any(column >= len(row) and left for column, (left, _) in below.items()):
                    row.append("")
                    continue
                break
            text, width, height = _words(cell), _span(cell, "colspan"), _span(cell, "rowspan")
            for _ in range(min(width, MOST_COLUMNS - len(row))):
                below[len(row)] = (height - 1, text)
                row.append(text)
        if any(row):
            rows.append(row)
    return rows


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return max(1, min(int(value), MOST_COLUMNS)) if value.isascii() and value.isdigit() else 1


def _words(node: LexborNode) -> str:
    return " ".join(node.text(separator=" ").split())[:10_000]


def column_of(specs: Sequence[FieldSpec]) -> Mapping[str, str]:
    """Column → kind."""
    return {spec.name: spec.column for spec in specs}
