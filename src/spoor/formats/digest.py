"""The digest of a watch: what it reported, by day, topic, site and story, as Markdown and HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape

from spoor.display import shown
from spoor.documents.blocks import escaped, link_target
from spoor.formats.feeds import came_to_be_wanted
from spoor.formats.site_names import without_site_names
from spoor.web.urls import host

Line = Mapping[str, Any]

MOST_SENTENCES = 5
"""Added and removed sentences of a change that are shown, of each."""

MOST_WORDS, MOST_CHARACTERS = 200, 2_000
"""Of such a sentence."""

MOST_PAIRS = 1_000
"""Places of equal words in two sentences that are compared word by word, some ms; sentences of the
same few words again and again would take a hundred times as long."""

LIKE = 0.5
"""Least similarity of a sentence and its correction, in [0, 1]."""

KEPT = 2_000
"""Differences that are kept for the next digest."""

HOURS = 48
"""Of the timeline."""

OTHER = "Other documents"
"""Heading of what names no topic, below those that do."""

WORDS = {"changed": "changed", "moved": "moved", "gone": "gone", "flood": "too much"}


@dataclass(frozen=True, slots=True)
class Story:
    """One document, and the near-copies of it that other sites have."""

    line: Line
    copies: tuple[Line, ...]


Sites = dict[str, list[Story]]


def stories(lines: Iterable[Line]) -> dict[str, dict[str, Sites]]:
    """Day → topic → site → stories: the newest day first, in a day the topic with most, then the
    site with most, of a site the best and newest first. A near-copy stands with the first of its
    story that day. A line that names no topic is of the topic "", which comes last."""
    days: dict[str, dict[str, list[Line]]] = {}
    for line in lines:
        key = line["id"] if line["kind"] in WORDS else line.get("story") or line["id"]
        days.setdefault(line["found_at"][:10], {}).setdefault(key, []).append(line)
    found: dict[str, dict[str, Sites]] = {}
    for day in sorted(days, reverse=True):
        topics: dict[str, Sites] = {}
        for first, *copies in days[day].values():
            sites = topics.setdefault(first.get("topic", ""), {})
            sites.setdefault(host(first["url"]), []).append(Story(first, tuple(copies)))
        found[day] = {}
        for topic, sites in sorted(topics.items(), key=_most_stories):
            for told in sites.values():
                told.sort(key=lambda story: story.line["found_at"], reverse=True)
                told.sort(key=lambda story: -story.line.get("score", 0.0))
            most_first = sorted(sites.items(), key=lambda site: (-len(site[1]), site[0]))
            found[day][topic] = dict(most_first)
    return found


def _most_stories(one: tuple[str, Sites]) -> tuple[bool, int, str]:
    topic, sites = one
    return not topic, -sum(map(len, sites.values())), topic


def headings(topics: Iterable[str]) -> dict[str, str]:
    """Topic → what stands above it: nothing where none of a day's lines names one."""
    topics = list(topics)
    return {topic: topic or (OTHER if len(topics) > 1 else "") for topic in topics}


def markdown(lines: Sequence[Line], title: str, notes: Sequence[str] = ()) -> str:
    """The digest as Markdown; `notes` stand above it, each one line."""
    lines = without_site_names(lines)
    out = [f"# {_plain(title)}", "", _newest(lines)]
    out += [f"\n> {_plain(note)}" for note in notes]
    for day, topics in stories(lines).items():
        out += ["", f"## {day}"]
        for topic, heading in headings(topics).items():
            out += ["", f"### {_plain(heading)}"] if heading else []
            level = "####" if heading else "###"
            for site, told in topics[topic].items():
                out += ["", f"{level} {_plain(site)}", ""]
                for story in told:
                    out += _items(story)
    return "\n".join(out) + "\n"


def _items(story: Story) -> list[str]:
    """A story as Markdown, with its copies and what changed in it."""
    line = story.line
    out = [f"- {_link(line)}{_facts(line)}"]
    out += [f"    - also {_link(copy)}" for copy in story.copies]
    # A plain plus would begin a list, in which the sentence is a heading or a fence if it likes.
    for sign, name in (("\\+", "added"), ("−", "removed")):
        for sentence in line.get(name, ())[:MOST_SENTENCES]:
            out.append(f"    - {sign} {_plain(' '.join(_begin(sentence)))}")
    return out


def _newest(lines: Sequence[Line]) -> str:
    """How many lines there are, and of when: who reads a digest asks whether it is today's."""
    if not lines:
        return "Nothing was told yet."
    at = _moment(max(line["found_at"] for line in lines))
    count = f"{len(lines)} {'line' if len(lines) == 1 else 'lines'}"
    return f"{count}, the newest of {at} (times are UTC)."


def _moment(when: str) -> str:
    """RFC 3339 to the minute; of what stands for a day, the day."""
    return when[:10] if when[11:19] == "23:59:59" else when[:16].replace("T", " ")


def _link(line: Line) -> str:
    return f"[{_plain(line['title'] or line['url'])}]{link_target(_one_word(line['url']))}"


def _one_word(url: str) -> str:
    """A URL, which may be a stranger's, without blanks and ends of lines."""
    return "%20".join(url.split())


def _plain(text: str) -> str:
    return escaped(shown(text))


def _facts(line: Line) -> str:
    facts = [WORDS[line["kind"]]] if line["kind"] in WORDS else []
    if came_to_be_wanted(line):
        facts = ["an old page that is about it now"]
    if line["date"] is not None and line["kind"] in ("new", "changed"):
        facts.append(f"of {_moment(line['date'])}")
    if "from" in line:
        facts.append(f"from {_plain(line['from'])}")
    if "title_before" in line:
        facts.append(f"its title was “{_plain(line['title_before'])}”")
    if line.get("why"):
        facts.append(
            f"{line['score']:.2f}: " + ", ".join(_plain(why) for why, _ in line["why"][:3])
        )
    return f" ({'; '.join(facts)})" if facts else ""


def html(
    lines: Sequence[Line], title: str, notes: Sequence[str] = (), sources: Sequence[Any] = ()
) -> str:
    """The digest as a page that needs no network, with the differences of what changed, a timeline,
    and a table of the sources (`spoor.live.sources.Source`). All text from the web is escaped."""
    lines = without_site_names(lines)
    body = [Markup("<h1>{}</h1><p class=note>{}</p>").format(shown(title), _newest(lines))]
    body += [Markup("<p class=note>{}</p>").format(shown(note)) for note in notes]
    body.append(_timeline(lines))
    for day, topics in stories(lines).items():
        body.append(Markup("<h2>{}</h2>").format(day))
        for topic, heading in headings(topics).items():
            body += [Markup("<h3>{}</h3>").format(shown(heading))] if heading else []
            level = 4 if heading else 3
            for site, told in topics[topic].items():
                body.append(Markup("<h{0}>{1}</h{0}><ul>").format(level, shown(site)))
                body += [story_item(story) for story in told]
                body.append(Markup("</ul>"))
    if sources:
        body.append(_table(sources))
    head = Markup('<!doctype html><html lang="en"><meta charset="utf-8"><title>{}</title>{}')
    return str(head.format(shown(title), _STYLE) + Markup("\n").join(body) + Markup("</html>\n"))


def story_item(story: Story, end: Markup | None = None) -> Markup:
    """A story as an item of a list, with the difference of what changed, and what stands at its
    `end`."""
    line = story.line
    parts = [_anchor(line), Markup(" <small>{}</small>").format(_facts_plain(line))]
    if line.get("added") or line.get("removed"):
        parts.append(difference(line.get("removed", ()), line.get("added", ())))
    if story.copies:
        copies = Markup(", ").join(_anchor(copy, host(copy["url"])) for copy in story.copies)
        parts.append(Markup("<div>also {}</div>").format(copies))
    if end is not None:
        parts.append(end)
    return Markup("<li>{}</li>").format(Markup("").join(parts))


def _facts_plain(line: Line) -> str:
    return _facts(line).replace("\\", "")


def _anchor(line: Line, text: str = "") -> Markup:
    words = shown(text or line["title"] or line["url"])
    if not line["url"].startswith(("http://", "https://")):
        return escape(words)
    link = Markup('<a rel="noreferrer noopener" href="{}">{}</a>')
    return link.format(line["url"], words)


def difference(removed: Sequence[str], added: Sequence[str]) -> Markup:
    """Removed and added sentences; where one is a correction of another, word by word."""
    return _difference(tuple(removed[:MOST_SENTENCES]), tuple(added[:MOST_SENTENCES]))


@lru_cache(maxsize=KEPT)
def _difference(removed: tuple[str, ...], added: tuple[str, ...]) -> Markup:
    left, came = ([_begin(one) for one in sentences] for sentences in (removed, added))
    rows = []
    for words in came:
        nearest = max(left, key=lambda other: _shared(other, words), default=[])
        compared = _compared(nearest, words)
        if compared is None:
            rows.append(Markup("<ins>{}</ins>").format(shown(" ".join(words))))
        else:
            left.remove(nearest)
            rows.append(_words(nearest, words, compared))
    rows += [Markup("<del>{}</del>").format(shown(" ".join(words))) for words in left]
    return Markup('<div class="diff">{}</div>').format(Markup("<br>").join(rows))


def _begin(sentence: str) -> list[str]:
    """The first words of a sentence, which are shown: a stranger's sentence has no bound."""
    return sentence[:MOST_CHARACTERS].split()[:MOST_WORDS]


def _shared(before: list[str], after: list[str]) -> float:
    """Share of the words that two sentences have in common, in any order."""
    return 2 * (Counter(before) & Counter(after)).total() / max(1, len(before) + len(after))


def _compared(before: list[str], after: list[str]) -> SequenceMatcher[str] | None:
    """None where one is no correction of the other."""
    if _shared(before, after) <= LIKE:
        return None
    counts = Counter(before)
    if sum(counts[word] for word in after) > MOST_PAIRS:
        return None
    compared = SequenceMatcher(None, before, after, autojunk=False)
    return compared if compared.ratio() > LIKE else None


def _words(before: list[str], after: list[str], compared: SequenceMatcher[str]) -> Markup:
    parts = []
    for kind, a, b, c, d in compared.get_opcodes():
        old, new = shown(" ".join(before[a:b])), shown(" ".join(after[c:d]))
        if kind == "equal":
            parts.append(escape(new))
            continue
        if old:
            parts.append(Markup("<del>{}</del>").format(old))
        if new:
            parts.append(Markup("<ins>{}</ins>").format(new))
    return Markup(" ").join(parts)


def _timeline(lines: Sequence[Line]) -> Markup:
    """Bars of the lines by hour, of the two days before the newest line."""
    if not lines:
        return Markup()
    hours = Counter(_hour(line) for line in lines)
    newest = max(hours)
    shown_hours = [newest - timedelta(hours=back) for back in range(HOURS - 1, -1, -1)]
    most = max(hours[hour] for hour in shown_hours)
    bars = [
        Markup('<i style="height:{}%" title="{:%Y-%m-%d %H:%M} – {}"></i>').format(
            round(100 * hours[hour] / most), hour, hours[hour]
        )
        for hour in shown_hours
    ]
    label = Markup("<small>lines by hour, from {:%Y-%m-%d %H:%M} on; at most {} in one</small>")
    chart = Markup('<div class="timeline">{}</div>').format(Markup("").join(bars))
    return chart + label.format(shown_hours[0], most)


def _hour(line: Line) -> datetime:
    """The hour in which it was told, of UTC."""
    found = datetime.fromisoformat(line["found_at"])
    in_utc = found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
    return in_utc.replace(minute=0, second=0, microsecond=0)


def _table(sources: Sequence[Any]) -> Markup:
    rows = [
        Markup("<tr{}><td>{}<td>{}<td>{}<td>{}").format(
            Markup(" class=silent") if one.silent else "",
            shown(one.host),
            one.told,
            one.requests,
            "–" if one.a_day is None else f"{one.a_day:.3g}",
        )
        for one in sources
    ]
    head = Markup(
        "<h2>Sources</h2><table><tr><th>site<th>told<th>requests<th>new documents a day{}</table>"
    )
    return head.format(Markup("").join(rows))


_STYLE = Markup(
    "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto}"
    "del{background:#fdd}ins{background:#dfd;text-decoration:none}small,.note{color:#666}"
    ".diff{margin:.3rem 0;font-size:.9em}"
    ".timeline{display:flex;height:4rem;align-items:end;gap:2px;border-bottom:1px solid #ddd}"
    ".timeline i{flex:1;background:#48c}table{border-collapse:collapse}"
    "td,th{padding:.1rem .8rem;text-align:left;border-bottom:1px solid #ddd}"
    ".silent{background:#fea}</style>"
)
