"""Fields of an HTML page: values by CSS selector or XPath, JSON-LD, microdata, and tables.

What a page does not have is None, never a guess. Selectors are those of parsel (`::text`,
`::attr(name)`), JSON-LD and microdata are read by extruct.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spoor.distribution import import_extra
from spoor.errors import InputError
from spoor.formats.exporters.columns import COLUMNS, COPIES, ON_REQUEST

MOST = 100
"""Values of one field."""

MOST_CHARACTERS = 1 << 20
"""Of one value, and of the values of one field together."""

MOST_SOURCE = 1 << 22
"""Characters of HTML that are read."""

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
    """The fields of `NAME=CSS`, `NAME=xpath:XPATH`, and `NAME[]=…` for all values. Raises InputError
    for what is none, for a name that a column has, and for a selector that cannot be read."""
    found: dict[str, FieldSpec] = {}
    for spec in specs:
        name, equals, selector = spec.partition("=")
        many, name = name.endswith("[]"), name.removesuffix("[]").strip()
        if not equals or not _NAME.fullmatch(name) or not selector.strip():
            raise InputError(
                f"--field {spec!r} is none; write NAME=CSS, as in price=.price, or "
                "NAME=xpath://EXPRESSION; NAME[]=… takes all values"
            )
        if name in found or name in {*COLUMNS, *ON_REQUEST, COPIES}:
            raise InputError(f"--field {spec!r}: there is a column {name!r} already")
        found[name] = FieldSpec(name, selector.strip(), many)
        values_of("<p>", [found[name]])  # a selector that cannot be read is told now
    return list(found.values())


def values_of(html: str, specs: Sequence[FieldSpec]) -> dict[str, Any]:
    """The value of each field of a page: text (of an element all of it), a list of them for `many`;
    None where nothing matches. Raises InputError for a selector that cannot be read, and without
    the extra."""
    if not specs:
        return {}
    (parsel,) = import_extra("fields", "--field", "parsel")
    # Without huge_tree libxml2 stops at 256 elements inside one another.
    root = parsel.Selector(html[:MOST_SOURCE] or "<p>", type="html", huge_tree=False)
    return {spec.name: _value(root, spec) for spec in specs}


def _value(root: Any, spec: FieldSpec) -> Any:
    try:
        if spec.selector.startswith("xpath:"):
            found = root.xpath(spec.selector.removeprefix("xpath:"))
        else:
            found = root.css(spec.selector)
    except ValueError as error:  # cssselect's and parsel's errors of syntax are of this kind
        raise InputError(f"--field {spec.name}: {spec.selector!r} cannot be read: {error}") from None
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


def json_ld(html: str, url: str) -> list[Any] | None:
    """The objects that a page states as JSON-LD, as they stand there; None where it states none, or
    nothing that can be read. Raises InputError without the extra."""
    (module,) = import_extra("fields", "JSON-LD", "extruct.jsonld")
    return _read(lambda: module.JsonLdExtractor().extract(html[:MOST_SOURCE], base_url=url))


def microdata(html: str, url: str) -> list[Any] | None:
    """The items that a page states as microdata: `type`, `properties`. As `json_ld`."""
    (module,) = import_extra("fields", "Microdata", "extruct.w3cmicrodata")
    return _read(lambda: module.MicrodataExtractor().extract(html[:MOST_SOURCE], base_url=url))


def _read(extract: Callable[[], list[Any]]) -> list[Any] | None:
    try:
        return extract() or None
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None  # of a page that is broken in a way that the library did not foresee


def column_of(specs: Sequence[FieldSpec]) -> Mapping[str, str]:
    """Column → kind."""
    return {spec.name: spec.column for spec in specs}
