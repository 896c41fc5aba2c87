"""When a live page was changed last, by its own word."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy

from spoor.web.dates import dates_in, last_modified
from spoor.web.exchange import Exchange

NOON = datetime(2024, 5, 2, 12, tzinfo=UTC).timestamp()


def reply(body: str = "", **headers: str) -> Exchange:
    named = CIMultiDict({name.replace("_", "-"): value for name, value in headers.items()})
    data = body.encode()
    return Exchange(
        "http://h.example/", 200, "OK", (), CIMultiDictProxy(named), data, data, NOON, 0.1
    )


def at(hour: int, day: int = 1) -> float:
    return datetime(2024, 5, day, hour, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("body", "date"),
    [
        ('<meta property="article:published_time" content="2024-05-01T08:00:00Z">', at(8)),
        ("<META content='2024-05-01T10:00:00+02:00' name='article:modified_time' />", at(8)),
        ('<script>{"datePublished": "2024-05-01T08:00:00.000Z"}</script>', at(8)),
        ('{"datePublished":"2024-05-01", "dateModified" : "2024-05-01T09:00"}', at(9)),
        ('<meta property="og:updated_time" content="2031-01-01T00:00:00Z">', None),
        ('<meta property="article:published_time" content="yesterday morning">', None),
        ("<p>datePublished 2024-05-01</p>", None),
    ],
)
def test_dates_that_a_page_states(body: str, date: float | None) -> None:
    assert last_modified(reply(body)) == date


def test_the_header_counts_where_the_page_says_nothing() -> None:
    stated, made = "Wed, 01 May 2024 08:00:00 GMT", "Thu, 02 May 2024 12:00:00 GMT"
    assert last_modified(reply(Last_Modified=stated, Date=made)) == at(8)
    assert last_modified(reply(Last_Modified=made, Date=made)) is None  # made when asked for
    assert last_modified(reply(Last_Modified="soon", Date="late")) is None
    body = '<meta property="article:published_time" content="2024-05-01T11:00:00Z">'
    assert last_modified(reply(body, Last_Modified=stated, Date=made)) == at(11)


@given(st.binary(max_size=300))
def test_any_body_is_survived(body: bytes) -> None:
    dates_in(b'<meta "article:published_time" content="' + body + b'">"datePublished":"' + body)
