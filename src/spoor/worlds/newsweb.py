"""A changing news web computed from a seed: sections, front pages that roll over, articles that
link to earlier ones, updates.

Articles appear at random times with a daily rhythm. The front page and the sections list the
newest, and crawls begin there; what falls off is reached through the articles that link to it.
Links of an article are drawn so that out-degrees follow a truncated power law and in-degrees one by
preferential attachment; a share of them closes triangles, and a share stays within the section,
which set clustering and path lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spoor.durations import DAY, HOUR
from spoor.errors import InputError
from spoor.worlds.evolving import EvolvingWorld, Version
from spoor.worlds.generated import check_numbers, checked_settings
from spoor.worlds.vocabulary import TOPICS

EPOCH = 1_600_000_000.0
MOST_ARTICLES = 1_000_000
_MOST = {"words": 100_000, "most_links": 10_000, "front": 10_000, "listed": 10_000}
_COMMON = (
    "people said today that report new first year time after city country week officials group "
    "found work state world public local many last plans day news over two under"
).split()


@dataclass(frozen=True, slots=True)
class NewsSettings:
    """What a generated news web is computed from. The exponents are those that the paper measured
    on its news site."""

    days: float = 18.0
    seed: int = 0
    sections: int = 10
    articles_a_day: float = 170.0
    backlog_days: float = 120.0
    """Articles that are there at the start."""
    front: int = 40
    """Articles on the front page, which changes every `front_minutes`."""
    front_minutes: float = 20.0
    listed: int = 30
    """Articles on a section's page, which changes with each new one."""
    least_links: int = 2
    most_links: int = 60
    """Drawn links of an article."""
    out_exponent: float = 1.3
    in_exponent: float = 2.57
    triads: float = 0.3
    """Share of the drawn links that lead to what an article already linked to links to."""
    local: float = 0.7
    """Share of the other drawn links that stay in the section."""
    navigation: bool = True
    """Whether articles link to the front page and their section."""
    updates: float = 1.5
    """Mean updates of an article; half of them within 6 hours, each may add a link to a newer
    article."""
    withdrawn: float = 0.01
    """Share of the articles that vanish after some days."""
    words: int = 120
    seconds: float = 2.5
    """Of a download."""


@dataclass(slots=True)
class _Article:
    number: int
    time: float
    section: int
    url: str
    title: str
    links: list[int]


def settings_of(given: Mapping[str, Any], where: str) -> NewsSettings:
    """Settings from a table. Raises InputError as `checked_settings` does."""
    return checked_settings(NewsSettings, given, where)


def news_web(settings: NewsSettings | None = None) -> EvolvingWorld:
    """The web of some settings. Raises InputError for settings that make none.

    O(articles · links); the same settings make the same web anywhere.
    """
    settings = settings or NewsSettings()
    check_numbers(settings, triads=1, local=1, withdrawn=1, updates=1_000, **_MOST)
    if settings.articles_a_day * (settings.days + settings.backlog_days) > MOST_ARTICLES:
        raise InputError(f"a news web has at most {MOST_ARTICLES:,} articles")
    if settings.days * DAY > settings.front_minutes * 60.0 * MOST_ARTICLES:
        raise InputError(f"a front page changes at most {MOST_ARTICLES:,} times")
    if not 1 <= settings.sections <= len(TOPICS):
        raise InputError(f"a news web has 1 to {len(TOPICS)} sections")
    if (
        settings.in_exponent <= 2
        or not 1 <= settings.least_links <= settings.most_links
        or settings.days <= 0
    ):
        raise InputError("a news web has days > 0, in_exponent > 2, 1 ≤ least_links ≤ most_links")
    return _Newsroom(settings).world()


class _Newsroom:
    def __init__(self, settings: NewsSettings) -> None:
        self._settings = settings
        self._rng = np.random.default_rng(settings.seed)
        self._names = list(TOPICS)[: settings.sections]
        self._vocabulary = [TOPICS[name].split() for name in self._names]
        # Two words of five are of the section.
        self._tables = [
            np.array([*(words * 2), *_COMMON][: 5 * len(words)], dtype=object)
            for words in self._vocabulary
        ]
        self._articles: list[_Article] = []
        self._by_section: list[list[int]] = [[] for _ in self._names]
        self._ends: list[int] = []
        """Every end of a drawn link: drawing from it is preferential attachment."""
        sizes = np.arange(settings.least_links, settings.most_links + 1, dtype=np.float64)
        shares = sizes**-settings.out_exponent
        # The last one takes the remaining probability, so that no draw exceeds it.
        self._sizes, self._shares = sizes.astype(np.int64), np.cumsum(shares / shares.sum())[:-1]

    def world(self) -> EvolvingWorld:
        settings = self._settings
        start, end = EPOCH, EPOCH + settings.days * DAY
        versions: list[Version] = []
        opened = False
        for time in self._times(start - settings.backlog_days * DAY, end):
            if time > start and not opened:
                opened = True
                versions += [self._section(section, start) for section in range(len(self._names))]
            article = self._write(time)
            self._articles.append(article)
            self._by_section[article.section].append(article.number)
            editions = [self._version(article, time, 0), *self._later(article)]
            # Of the editions before the start only the one current at the start is needed.
            early = sum(version.time <= start for version in editions)
            versions += editions[max(0, early - 1) :]
            if time > start:
                versions.append(self._section(article.section, time))
        versions += self._fronts(start - HOUR, end)
        roots = [self._front_url(), *map(self._section_url, range(len(self._names)))]
        return EvolvingWorld(versions, roots=roots, start=start, end=end, seconds=settings.seconds)

    def _times(self, start: float, end: float) -> list[float]:
        """By thinning: twice the mean rate at noon, almost none at midnight."""
        rate = 2.0 * self._settings.articles_a_day / DAY
        count = self._rng.poisson(rate * (end - start))
        times = np.sort(self._rng.uniform(start, end, count))
        likely = 0.5 - 0.48 * np.cos(2 * math.pi * (times % DAY) / DAY)
        accepted: list[float] = times[self._rng.random(count) < likely].tolist()
        return accepted

    def _write(self, time: float) -> _Article:
        rng, number = self._rng, len(self._articles)
        section = int(rng.integers(len(self._names)))
        words = [str(word) for word in rng.choice(self._vocabulary[section], 3, replace=False)]
        name = self._names[section]
        url = f"http://news.example/{name}/{'-'.join(words)}-{number}.html"
        return _Article(number, time, section, url, " ".join(words), self._links(section))

    def _links(self, section: int) -> list[int]:
        """Earlier articles."""
        rng, settings, articles = self._rng, self._settings, self._articles
        if not articles:
            return []
        # Preferential and even draws in these shares give in-degrees of this exponent.
        preferential = 1.0 / (settings.in_exponent - 1.0)
        chosen: dict[int, None] = {}
        draws = int(self._sizes[np.searchsorted(self._shares, rng.random())])
        for kind, way, where, which in rng.random((draws, 4)).tolist():
            pool = self._by_section[section] if where < settings.local else None
            if kind < settings.triads and chosen:
                linked = list(chosen)
                friends = articles[linked[int(which * len(linked))]].links
                if friends:
                    chosen[friends[int(way * len(friends))]] = None
                continue
            if way < preferential and self._ends:
                end = self._ends[int(which * len(self._ends))]
                if pool is None or articles[end].section == section:
                    chosen[end] = None
                    continue
            if not pool:
                pool = range(len(articles))  # type: ignore[assignment]  # read only
            assert pool is not None
            # The newer the likelier.
            chosen[pool[len(pool) - 1 - int(len(pool) * which**3)]] = None
        self._ends += chosen
        return list(chosen)

    def _text(self, article: _Article, edition: int) -> str:
        rng = np.random.default_rng((self._settings.seed, article.number, edition))
        table = self._tables[article.section]
        words = table[rng.integers(len(table), size=self._settings.words)].tolist()
        return " ".join([*words, f"edition {edition}"])

    def _version(self, article: _Article, time: float, edition: int) -> Version:
        linked = [self._articles[link].url for link in article.links]
        own = []
        if self._settings.navigation:
            own = [self._front_url(), self._section_url(article.section)]
        return Version(
            time, article.url, article.title, self._text(article, edition), (*own, *linked)
        )

    def _later(self, article: _Article) -> list[Version]:
        """Updates and the end of an article. A later edition links to nothing newer than itself,
        so it can be made now: the text changes, and one more earlier link may be added."""
        rng, settings = self._rng, self._settings
        out: list[Version] = []
        delays = np.sort(rng.exponential(6 * HOUR / math.log(2), rng.poisson(settings.updates)))
        for edition, delay in enumerate(delays.tolist(), 1):
            if rng.random() < 0.3 and len(self._articles) > 1:
                more = int(rng.integers(max(0, article.number - 200), max(1, article.number)))
                if more not in article.links and more != article.number:
                    article.links.append(more)
            out.append(self._version(article, article.time + delay, edition))
        if rng.random() < settings.withdrawn:
            last = article.time + float(rng.uniform(1, 5)) * DAY
            out = [version for version in out if version.time < last]
            out.append(Version(last, article.url, gone=True))
        return out

    def _front_url(self) -> str:
        return "http://news.example/"

    def _section_url(self, section: int) -> str:
        return f"http://news.example/{self._names[section]}/"

    def _section(self, section: int, time: float) -> Version:
        newest = [
            self._articles[number]
            for number in self._by_section[section][: -self._settings.listed - 1 : -1]
        ]
        return self._list(self._section_url(section), self._names[section], newest, time)

    def _fronts(self, start: float, end: float) -> list[Version]:
        """The front page, every so many minutes; where nothing is new it stays as it was."""
        times = [article.time for article in self._articles]
        out: list[Version] = []
        shown = -1
        step = self._settings.front_minutes * 60.0
        for time in np.arange(start, end, step).tolist():
            count = int(np.searchsorted(times, time, side="right"))
            if count == shown:
                continue
            shown = count
            newest = self._articles[max(0, count - self._settings.front) : count][::-1]
            out.append(self._list(self._front_url(), "Front page", newest, time))
        return out

    def _list(self, url: str, title: str, articles: list[_Article], time: float) -> Version:
        nav = [self._front_url()] + [
            self._section_url(section) for section in range(len(self._names))
        ]
        links = [link for link in nav if link != url]
        links += [article.url for article in articles]
        text = " ".join([*self._names, *(article.title for article in articles)])
        newest = articles[0].number if articles else 0
        return Version(time, url, title, f"{text} {newest}", tuple(dict.fromkeys(links)))
