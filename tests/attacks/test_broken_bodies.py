"""A connection that breaks off in the middle of a page changes nothing that was known of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spoor
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from spoor.runs.reader import Run

TEXT = "<title>Kilns</title>" + "".join(f"<p>Kiln number {n} burns wood.</p>" for n in range(200))
WHOLE = reply(TEXT)
HALF = WHOLE[: len(WHOLE) // 2]


@pytest.mark.server
@pytest.mark.parametrize(("whole", "times"), [(1, 1), (1, 2), (1, 9), (0, 9)])
def test_half_a_page_takes_the_place_of_no_whole_one(
    whole: int, times: int, tmp_path: Path
) -> None:
    """Of a page that breaks off each time half is all that there is, and it is marked."""
    asked, cut = 0, list[bool]()

    def answer(one: Asked) -> bytes:
        nonlocal asked
        if one.path == "/":
            return page("/doc")
        if one.path != "/doc":
            return MISSING
        asked += 1
        return HALF if whole < asked <= whole + times else WHOLE

    server, read = Loopback(answer), list[int]()
    with beside(server.serving):
        told: dict[str, Any] = {
            "connect_to": f"{ADDRESS}:{server.port}",
            "delay": 0.0,
            "progress": False,
        }
        first, second = tmp_path / "1", tmp_path / "2"
        spoor.run("http://a.example/", "kiln", out=first, backoff=0.01, **told)
        spoor.run((), out=second, refresh=str(first), hints=False, backoff=0.01, **told)
        for path in (first, second):
            documents = Run(path).documents()
            read += [len(one.text) for one in documents if one.url.endswith("/doc")]
            pages = Run(path).outcomes()
            cut += ["truncated" in one["flags"] for one in pages if one["url"].endswith("/doc")]
    assert asked == 1 + min(times + 1, 3)
    assert read[1] == read[0]
    assert cut == [not whole] * 2
