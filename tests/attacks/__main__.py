"""Runs every attack and prints a table: attack, bound, measured.

    python tests/attacks [WORD]        (or: make attacks)

Each attack is a test; the table says what it noted, or how many examples held. With a WORD, only
those whose line has it. Exit code 1 where one does not hold.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Attack:
    """A line of the table."""

    item: str
    """Of the issue that found it."""
    what: str
    bound: str
    """What must hold, where its tests note nothing of their own."""
    tests: Sequence[str]
    """Files, or tests in them, from `tests` on."""


A = "attacks"
LAW = "0.5 s, 64 MB and 20 times its size"
ATTACKS = (
    Attack("1 18 23", "HTML that costs", LAW, ["unit/test_isolate.py", "unit/test_parse_cost.py"]),
    Attack("1 5", "sitemaps and feeds", LAW, [f"{A}/test_hostile_documents.py::test_sitemaps"]),
    Attack("", "search indexes", LAW, [f"{A}/test_hostile_documents.py::test_search_indexes"]),
    Attack("1", "robots.txt", LAW, [f"{A}/test_hostile_documents.py::test_robots_txt"]),
    Attack(
        "",
        "what is kept with links",
        "20 times the page",
        [f"{A}/test_hostile_documents.py::test_what_is_kept_with_the_links_of_a_page"],
    ),
    Attack("1 16", "wikitext", LAW, [f"{A}/test_hostile_documents.py::test_wikitext"]),
    Attack("1", "archives and dumps", LAW, [f"{A}/test_hostile_documents.py::test_archives"]),
    Attack(
        "16",
        "dates that are none",
        "no time",
        [f"{A}/test_hostile_documents.py::test_a_date_that_is_none_is_left_out"],
    ),
    Attack(
        "2", "status lines and headers of any bytes", "one failure", ["e2e/test_hostile_replies.py"]
    ),
    Attack(
        "3 7 13 19",
        "run folders of a stranger",
        "one line, nothing outside",
        [f"{A}/test_run_folder.py"],
    ),
    Attack(
        "3",
        "limits of a stranger's run that are none",
        "256 MiB",
        ["unit/test_settings.py::test_no_settings_have_a_body_of_any_size_read_into_memory"],
    ),
    Attack("3", "databases of a stranger", "nothing runs", [f"{A}/test_databases.py"]),
    Attack("3", "a stranger's working folder", "nothing runs", [f"{A}/test_working_folder.py"]),
    Attack("", "pages and folders of a watch", LAW, [f"{A}/test_watches.py"]),
    Attack("", "what a watch keeps of a site", "its bounds", [f"{A}/test_watched_rooms.py"]),
    Attack(
        "16",
        "documents that take long while a program ends",
        "they are given up",
        ["unit/test_isolate.py::test_a_program_that_ends_does_not_wait_for_what_is_being_read"],
    ),
    Attack("", "what is no HTTP, sent to the live page", "no word", [f"{A}/test_live_page.py"]),
    Attack("3", "models and saved orderers of a stranger", "one line", [f"{A}/test_models.py"]),
    Attack("3", "webs of a stranger", "one line", [f"{A}/test_webs.py"]),
    Attack("20", "what a site reserves in many wildcards", "0.5 s", ["unit/test_reservations.py"]),
    Attack(
        "20",
        "names inside, also through proxies",
        "no connection",
        ["unit/test_address_guard.py"],
    ),
    Attack(
        "20",
        "what exchanges leave in memory",
        "nothing",
        [f"{A}/test_left_behind.py"],
    ),
    Attack(
        "20",
        "searches of pages of one word",
        "4 s",
        [
            "unit/test_search_and_forget.py::"
            "test_pages_that_say_one_word_again_and_again_are_searched_in_little_time"
        ],
    ),
    Attack("", "what an agent is led to ask for", "the server's limits", [f"{A}/test_agents.py"]),
    Attack("3", "any damage to any file of a run", "one line", [f"{A}/test_damaged_files.py"]),
    Attack(
        "3", "frames that unpack without end", "16 MB and 20 times", ["unit/test_compression.py"]
    ),
    Attack(
        "6 8 9 10 11 12 14 16 22",
        "servers that lead astray or lie",
        "as told",
        [f"{A}/test_servers.py"],
    ),
    Attack(
        "4",
        "hosts that never answer, drip, or have no name",
        "good ones keep their rate",
        [f"{A}/test_slow_hosts.py"],
    ),
    Attack("5", "texts that make patterns slow", "linear", ["unit/test_traps.py"]),
    Attack("12", "bodies and headers without end", "their limits", ["unit/test_limits.py"]),
    Attack("15", "rules for others in robots.txt", "as RFC 9309", ["unit/test_robots.py"]),
    Attack("16", "cells that are formulas", "text", ["unit/test_export.py"]),
    Attack("17", "sitemaps in any encoding", "their links", ["unit/test_sitemaps.py"]),
    Attack(
        "20",
        "titles with control characters",
        "a feed that is well-formed",
        [f"{A}/test_hostile_documents.py::test_a_feed_is_well_formed_whatever_a_title_holds"],
    ),
    Attack(
        "3",
        "pages in a browser that ask for more",
        "120 requests, 32 MiB",
        [f"{A}/test_subrequests.py"],
    ),
    Attack("", "disks that fail, are slow, keep no locks", "nothing lost", [f"{A}/test_disk.py"]),
    Attack("", "shards that die at every point", "nothing lost", ["drivers/test_shard_deaths.py"]),
    Attack(
        "6 22",
        "pages and servers that lead Scrapy astray",
        "the scope; no file",
        [
            "drivers/test_scrapy.py::test_no_page_and_no_redirect_leads_out_of_the_scope_past_the_crawl"
        ],
    ),
    Attack(
        "12",
        "a robots.txt without end in Scrapy",
        "500 KiB",
        ["drivers/test_scrapy.py::test_of_a_robots_txt_without_end_the_first_500_kib_are_read"],
    ),
    Attack(
        "20",
        "hosts that give a robots.txt and then no page, or none, in Scrapy",
        "good ones keep their places",
        ["drivers/test_scrapy.py::test_hosts_that_do_not_answer_take_no_place_of_others"],
    ),
    Attack("20", "files of a stranger without end", "one line", [f"{A}/test_bounded_files.py"]),
    Attack("20", "small documents that cost", LAW, [f"{A}/test_small_documents.py"]),
    Attack(
        "20",
        "damaged parts of Office files",
        "no word lost",
        ["unit/test_office.py::test_no_damaged_part_without_text_loses_a_word"],
    ),
    Attack(
        "20",
        "hooks of a watch that hang",
        "a minute, with all that they started",
        [
            "drivers/test_deliveries.py::test_a_command_that_takes_too_long_ends_with_all_that_it_started"
        ],
    ),
    Attack(
        "20",
        "main text of HTML",
        LAW,
        [f"{A}/test_hostile_documents.py::test_main_text"],
    ),
    Attack(
        "20",
        "end tags that close nothing",
        "no fewer open than in a tree",
        ["unit/test_html_nesting.py"],
    ),
    Attack("20", "what frames a body, TLS too", "256 KiB", [f"{A}/test_framing.py"]),
    Attack("20", "clients that say nothing", "others are heard", [f"{A}/test_mute_clients.py"]),
    Attack(
        "21",
        "an import that is ended, or made to cost",
        "nothing is left; 60 s and 20 s a MiB",
        [f"{A}/test_imports.py"],
    ),
)


class Measured:
    """Collects what the tests of the table noted, and how they ended."""

    def __init__(self) -> None:
        self.notes: dict[str, dict[str, object]] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.notes[report.nodeid] = dict(report.user_properties)
        if report.failed:
            self.failed.add(report.nodeid)


def line(attack: Attack, measured: Measured) -> list[tuple[str, ...]]:
    """The lines of an attack: one for each example that noted what it cost, or one for all."""
    mine = {
        node: notes
        for node, notes in measured.notes.items()
        if any(node.startswith(f"tests/{test}") for test in attack.tests)
    }
    lost = sum(node in measured.failed for node in mine)
    told = [
        (
            attack.item,
            f"{attack.what}: {node.rpartition('[')[2].rstrip(']')}",
            *map(str, (notes["bound"], notes["measured"])),
            "lost" if node in measured.failed else "holds",
        )
        for node, notes in mine.items()
        if "measured" in notes
    ]
    if told and len(told) == len(mine):
        return told
    held = f"{len(mine) - lost} of {len(mine)} hold"
    return [(attack.item, attack.what, attack.bound, held, "lost" if lost or not mine else "holds")]


def main(words: Sequence[str]) -> int:
    """Run the attacks that have one of the words; all without words."""
    os.environ["SPOOR_ATTACKS"] = "all"
    os.chdir(ROOT)
    chosen = [one for one in ATTACKS if not words or any(word in repr(one) for word in words)]
    if not chosen:
        print(f"no attack has {' or '.join(words)}")
        return 1
    tests = dict.fromkeys(f"tests/{test}" for attack in chosen for test in attack.tests)
    measured = Measured()
    pytest.main(["-q", "-n", "0", *tests], plugins=[measured])
    rows: list[tuple[str, ...]] = [("item", "attack", "bound", "measured", "")]
    rows += [row for attack in chosen for row in line(attack, measured)]
    widths = defaultdict[int, int](int)
    for row in rows:
        for place, cell in enumerate(row):
            widths[place] = max(widths[place], len(cell))
    for row in rows:
        print("  ".join(cell.ljust(widths[place]) for place, cell in enumerate(row)).rstrip())
    return int(bool(measured.failed) or len(rows) == 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
