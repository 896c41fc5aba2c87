"""The report of a run that no page ever came to says why."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from spoor.runs import files
from spoor.runs.inputs import with_inputs
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.views.html import environment, write_report
from spoor.views.report import Reporter

SEED = "http://127.0.0.1:9/"


def test_why_no_page_came_and_nothing_of_a_crawl_that_saw_all(tmp_path: Path) -> None:
    path = tmp_path / "run"
    writer = RunWriter(path, with_inputs(Settings(topic="kiln"), [SEED]))
    assert Reporter(path).report(None).advice == [], "it may still come"
    writer.close()
    with closing(sqlite3.connect(path / files.DATABASE)) as db, db:
        db.execute(
            "INSERT INTO failures (seq, url, host, kind, reason, status, time, ticket)"
            " VALUES (1, ?, '127.0.0.1:9', 'blocked', '127.0.0.1 is not a public address', 0, 1.0, 0)",
            (SEED,),
        )
    told = (
        f"No seed brought a page: {SEED}: 127.0.0.1 is not a public address; give --allow-private"
    )
    (line,) = Reporter(path).report(None).advice
    assert line.startswith(told)
    html = write_report(path).read_text("utf-8")
    assert told in html
    assert "has come to all that its scope lets it see" not in html


def test_words_between_asterisks_are_emphasised_and_nothing_else() -> None:
    said = environment().from_string("{{ said|emphasised }}")
    assert said.render(said="*kiln* or *a b*") == "<em>kiln</em> or <em>a b</em>"
    assert said.render(said="*<b>* http://a.test/?token=x&key=y") == (
        "<em>&lt;b&gt;</em> http://a.test/?token=***&amp;key=***"
    )
