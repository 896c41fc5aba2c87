"""A live run whose judge judges anew: what is kept, shown and counted is the newest verdict."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kills import CountedWeb, KilledError, check_run, digest, open_run, served
from rejudging import Warming
from spoor.crawl import Crawl
from spoor.judges.topic import TopicFile, topic_of
from spoor.live import live_crawl as run_module
from spoor.live.live_crawl import LiveCrawl
from spoor.protocols import Judge
from spoor.runs import assemble, files
from spoor.runs.reader import Run
from spoor.runs.saved_files import saved_name
from spoor.runs.snapshot import snapshot
from spoor.settings import Settings
from spoor.types import Judgement, Page
from spoor.views.run_totals import Sums

PAGES = 44


@pytest.fixture(scope="module")
def web() -> Iterator[CountedWeb]:
    with served(PAGES, hosts=3) as counted:
        yield counted


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch) -> None:
    def warming(settings: Settings) -> tuple[Judge, TopicFile | None]:
        return Warming(), topic_of(settings.topic)

    monkeypatch.setattr(assemble, "judge_and_topic", warming)


def check(path: Path, crawl: Crawl) -> dict[str, bool]:
    """All that shows a run agrees with the newest verdicts of its crawl."""
    run = Run(path)
    rows = {row.url: row.relevant for row in run.pages()}
    assert sum(rows.values()) == crawl.counts.relevant
    assert check_run(path) == rows.keys()  # and the results
    assert sum(row.relevant for row in run.pages(relevant=True)) == crawl.counts.relevant
    return rows


def test_the_newest_verdict_is_what_is_kept(web: CountedWeb, tmp_path: Path) -> None:
    path = tmp_path / "run"
    run = open_run(path, web.root, web.port, pages=40, save_files=True)
    sums: list[Sums] = []
    seen: list[int] = []

    def step(*_: object) -> None:
        sums.append(Sums(Run(path)) if not sums else sums[0])
        seen.append(sums[0].refresh()[1] - run.crawl.counts.relevant)

    run.on_step = step
    run.run()
    revisions = run.crawl.revisions
    assert revisions == run.summary("")["judged_anew"] > 0
    assert run.summary("")["found"] == run.crawl.counts.relevant
    rows = check(path, run.crawl)
    run.folder.close()
    # The sums of the report and of the live page follow while it goes on: at each commit.
    assert set(seen) == {0}
    sums[0].refresh()
    assert sum(sums[0].relevant) == sum(rows.values())
    documents = {document.url: document.bytes for document in Run(path).documents()}
    saved = {url: path.joinpath(files.SAVED, *saved_name(url, "text/html")) for url in documents}
    assert {url: file.read_bytes() for url, file in saved.items()} == documents
    kept = {file for file in (path / files.SAVED).rglob("*") if file.is_file()}
    assert kept == set(saved.values()), "those that ceased to be relevant are gone"
    why = [row.why[0][0] for row in Run(path).pages() if row.why]
    assert sum(text.startswith("judged anew after ") for text in why) > 0
    exported = tmp_path / "export.jsonl"
    Run(path).export(exported)
    lines = [json.loads(line) for line in exported.read_text("utf-8").splitlines()]
    assert {line["url"] for line in lines} == {url for url, relevant in rows.items() if relevant}

    # A label refines the judge at once: pages that it knows as like that one follow when it goes on.
    judge_before = {url for url, relevant in rows.items() if relevant}
    url = max(judge_before, key=lambda url: sum(len(other) == len(url) for other in judge_before))
    Run(path).label(url, False)
    run = open_run(path, web.root, web.port, pages=44)
    run.run()
    rows = check(path, run.crawl)
    run.folder.close()
    alike = [other for other in rows if len(other) == len(url)]
    assert not any(rows[other] for other in alike)
    assert any(other in judge_before for other in alike if other != url)
    (state,) = [snapshot(path)]
    assert state is not None
    assert not state.missing


class Rash(Warming):
    """Takes every page for a result when it comes, and one of three after that."""

    def judge(self, page: Page) -> Judgement:
        super().judge(page)
        self._said[page.url] = True
        return Judgement(0.9, True, 1.0)

    def revise(self) -> Sequence[tuple[str, Judgement]]:
        results = [url for url in self._said if self._said[url]]
        gone = [url for url in results if zlib.crc32(url.encode()) % 3]
        self._said |= dict.fromkeys(gone, False)
        return [(url, Judgement(0.1, False, 0.0)) for url in gone]


def test_a_crawl_that_has_found_enough_asks_for_the_newest_verdicts_before_it_ends(
    web: CountedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assemble, "judge_and_topic", lambda its: (Rash(), topic_of(its.topic)))
    run = open_run(tmp_path / "run", web.root, web.port, pages=40, found=6)
    assert run.run().startswith("found ")
    assert run.crawl.counts.relevant >= 6
    assert run.crawl.counts.pages >= 12
    run.folder.close()


def test_found_counts_current_verdicts(web: CountedWeb, tmp_path: Path) -> None:
    path = tmp_path / "run"
    run = open_run(path, web.root, web.port, pages=40, found=12)
    reason = run.run()
    run.folder.close()
    found = re.fullmatch(r"found (\d+) relevant pages", reason)
    assert found is not None
    assert int(found[1]) >= 12
    rows = check(path, run.crawl)
    at_arrival = {
        url for url, told in archived_metadata(path).items() if json.loads(told)["relevant"]
    }
    now = {url for url, relevant in rows.items() if relevant}
    assert at_arrival != now, "the archive has what was thought when a page came"


def archived_metadata(path: Path) -> dict[str, str]:
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    with Run(path).archives[0].open("rb") as stream:
        records = ArchiveIterator(stream, record_types=WarcRecordType.metadata)
        return {
            record.headers["WARC-Target-URI"]: record.reader.read().decode().partition(": ")[2]
            for record in records
        }


@pytest.mark.parametrize(
    ("point", "after"),
    [("reply received", 16), ("rows written", 16), ("committed", 32)],
)
def test_a_death_while_pages_are_judged_anew(
    point: str, after: int, web: CountedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0 lost, 0 twice, bit-equal: whether the last revisions were committed or not."""
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.05)
    monkeypatch.setattr(run_module, "CHECKPOINT_SHARE", 1e9)
    path, last, dead = tmp_path / "run", "", False

    def at(reached: str, crawl: Crawl) -> None:
        nonlocal last, dead
        if dead:
            return
        if reached == "committed":
            last = digest(crawl)
        if reached == point and crawl.counts.pages >= after:
            dead = True
            raise KilledError

    run = open_run(path, web.root, web.port, at=at)
    with pytest.raises(KilledError):
        run.run()
    killed_at = run.crawl.revisions
    run.folder.close()
    again: list[str] = []

    def look(reached: str, crawl: Crawl) -> None:
        if reached == "gone through":
            again.append(digest(crawl))

    run = open_run(path, web.root, web.port, at=look)
    assert again == [last]
    assert point != "committed" or run.crawl.revisions == killed_at > 0
    assert run.run() == "no open link left"
    check(path, run.crawl)
    run.folder.close()


def test_a_shard_revises_its_own_pages(
    web: CountedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spoor.live.shard import Shard

    shards = [
        Shard(tmp_path, replace(_settings(web), shards=2, pages=100), number) for number in (0, 1)
    ]
    for shard in shards:
        run: LiveCrawl = shard.run
        run.crawl.pages = run.crawl.outbox.grant = 20  # type: ignore[union-attr]
        run.run()
        rows = [(row.url, row.relevant) for row in Run(run.folder.path).pages()]
        assert sum(relevant for _, relevant in rows) == run.crawl.counts.relevant
        judge = run.crawl.judge
        assert isinstance(judge, Warming)
        assert [url for url, _ in rows] == judge.judged
        run.folder.close()
    assert sum(shard.run.crawl.revisions for shard in shards) > 0
    assert shards[0].run.crawl.judge is not shards[1].run.crawl.judge


def _settings(web: CountedWeb) -> Settings:
    from kills import TOPIC
    from spoor.runs.inputs import with_inputs

    given = Settings(topic=TOPIC, scope="anywhere", delay=0, connect_to=f"127.0.0.1:{web.port}")
    return with_inputs(given, [web.root])


def test_what_comes_next_is_known_while_a_request_is_in_flight(
    web: CountedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(run_module, "CHECKPOINT_SHARE", 1e9)
    run = open_run(tmp_path / "run", web.root, web.port, pages=12, in_flight=1)
    seen: list[tuple[int, int]] = []

    def look(fetch: object, outcome: object) -> None:
        state = snapshot(run.folder.path)
        if state is not None and state.pages and state.open_links:
            seen.append((min(20, state.open_links), len(state.next)))

    run.on_step = look
    run.run()
    run.folder.close()
    assert seen
    assert all(links == known for links, known in seen)
