"""What a user is told of a wish, by the pages seen so far: which of its words they have and the
nearest that they have, pages near the threshold, a warning where nearly all or none is relevant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from heapq import nsmallest
from typing import Any

from spoor.display import command_line
from spoor.judges.no_results import Verdict
from spoor.judges.wish import Wish
from spoor.types import Page
from spoor.web.languages import says_little
from spoor.web.text import STOP_WORDS, stem, tokens, words_of
from spoor.web.urls import words as url_words

VOCABULARY_PAGES = 64
"""Pages whose words are all noted; of later ones only what is still missing is looked for."""
NONE_AFTER = 50
"""Pages after which a crawl warns that none, or one alone, is relevant."""
FEW = 4
"""Pages of a crawl that has ended, below which words are not the cause."""
FEW_FOUND = 3
"""Relevant pages up to which a crawl that has ended says that a yes to others may bring more."""
NEARLY_ALL = 0.8
"""Share of relevant pages, and of pages with a word, from which they are nearly all."""
NEARLY_ALL_AFTER = 20
"""Pages after which a crawl warns of that."""
_NEAR = 4
"""Pages near the threshold that are shown."""
_ALIKE = 0.75
"""Likeness, in [0, 1], from which a word may be meant by another."""
_MEANT = 0.85
"""Likeness from which a longer word is proposed in its place: about two letters of fourteen."""
_SITE_WORDS = 8
"""Words of the pages that are named where nothing is found."""
_WORDS = 5_000
"""Words of a page that are looked at."""
_LATER = 8_000
"""Characters of a later page in which a missing word is looked for."""
_MOST_WORDS = 200_000
"""Words that are noted."""


_TOO_FEW = "so few came that words are not the cause; see what failed and what was left out"


@dataclass(frozen=True, slots=True)
class NearPage:
    """A page whose verdict a person's word would help most."""

    url: str
    title: str
    score: float
    relevant: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """What is told."""

    wish: str = ""
    """In plain words; empty for a topic that is no wish."""
    pages: int = 0
    relevant: int = 0
    known: Sequence[str] = ()
    """Words of the wish that the pages have."""
    unknown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Words of the wish that they have not → the nearest that they have, best first."""
    suggestion: str = ""
    """The wish with these in their place, as one would type it; empty where there are none."""
    near: Sequence[NearPage] = ()
    """Pages near the threshold, on either side."""
    warning: str = ""
    best: NearPage | None = None
    """Where nothing is found: the page with the highest score, if any has one."""
    site_words: Sequence[str] = ()
    """Where nothing is found: words that many of the pages have, but not nearly all."""

    @property
    def tells(self) -> bool:
        """Whether there is something that a user should do."""
        return bool(self.unknown or self.warning)

    @property
    def news(self) -> object:
        """What it tells, in short: while that stays the same, nobody has to be told again."""
        warns = re.sub(r"\d+", "", self.warning.partition(":")[0])
        return (frozenset(self.unknown), bool(self.suggestion), warns) if self.tells else None

    def as_json(self, run: str = "") -> dict[str, Any]:
        """As JSON values, with `lines`."""
        return {**asdict(self), "lines": self.lines(run)}

    def lines(self, run: str = "", *, near: bool = True) -> list[str]:
        """The same for a person; `run`: the folder of the run that labels are for, if any.
        `near`: with the pages near the threshold."""
        lines = []
        if self.pages and (count := len(self.known) + len(self.unknown)):
            line = f"words    the pages have {len(self.known)} of {count} words of the topic"
            missing = [
                f"no *{word}*" + (f" (nearest: {', '.join(nearest)})" if nearest else "")
                for word, nearest in self.unknown.items()
            ]
            lines.append(": ".join([line, ", ".join(missing)] if missing else [line]))
        if self.suggestion:
            lines.append(f"         did you mean {self.suggestion}?")
        if self.warning:
            lines.append(f"warning  {self.warning}")
        if self.site_words:
            lines.append(f"site     its pages are rather about {', '.join(self.site_words)}")
        if self.best is not None:
            lines.append(f"nearest  {self.best.score:.2f} {self.best.url}")
        if self.site_words or self.best is not None:
            lines.append("seed     another page may be nearer to it: give it beside the first URL")
        for page in self.near if near else ():
            line = f"check    {page.score:.2f} {page.url} "
            line += "counts" if page.relevant else "does not count"
            if run:
                should, answer = ("should not", "no") if page.relevant else ("should", "yes")
                line += f"; if it {should}: {command_line('label', run, page.url, answer)}"
            lines.append(line)
        return lines


class Advisor:
    """Looks at the pages of a crawl or test for what to tell of a wish; None: of a topic that has
    none. `known`: words that pages are known to have which it does not see. `by_rule`: what counts
    is said by patterns of addresses, kinds or texts alone. Some .5 ms for each of the first pages,
    then next to nothing."""

    def __init__(
        self, wish: Wish | None, known: Collection[str] = (), *, by_rule: bool = False
    ) -> None:
        self._wish = wish
        self._by_rule = by_rule
        words = wish.words if wish else ()
        telling = [word for word in words if not says_little(word)] or words
        self._forms = {word: _stems(word) for word in telling}
        self._pages = 0
        self._together = 0
        """Pages that have all words."""
        self._having = Counter({word: 1 for word in self._forms if word in known})
        """Word of the wish → pages that have it."""
        self._vocabulary: Counter[str] = Counter()
        self._missing: re.Pattern[str] | None = None

    def see(self, page: Page) -> None:
        """Look at a page."""
        self._pages += 1
        if self._pages <= VOCABULARY_PAGES:
            self._note(page)
        elif self._missing is not None:
            text = f"{page.title}\n{page.text[:_LATER]}".lower()
            if found := self._missing.search(text):
                self._having[found[0]] += 1
                self._look_for_missing()
        if self._pages == VOCABULARY_PAGES:
            self._look_for_missing()

    def _look_for_missing(self) -> None:
        missing = [word for word in self._forms if not self._having[word]]
        every = "|".join(
            re.escape(word) if _is_unspaced(word) else rf"\b{re.escape(word)}" for word in missing
        )
        self._missing = re.compile(every) if missing else None

    def _note(self, page: Page) -> None:
        url = [word for part in url_words(page.url) for word in part]
        text = f"{page.title}\n" + "\n".join(page.headings[:100])
        seen = {*tokens(text[: 8 * _WORDS]), *url, *words_of(page.text).first(_WORDS)}
        if len(self._vocabulary) < _MOST_WORDS:
            self._vocabulary.update(seen)
        if not self._forms:
            return
        stems = set(stem(seen))
        whole = ""
        present = 0
        for word, forms in self._forms.items():
            if _is_unspaced(word):
                whole = whole or f"{text}\n{page.text[: 8 * _WORDS]}".lower()
                has = word in whole
            else:
                has = stems.issuperset(forms)
            self._having[word] += has
            present += has
        self._together += present == len(self._forms)

    def advice(
        self,
        judged: Iterable[Verdict],
        *,
        none_after: int = NONE_AFTER,
        nearly_all_after: int = NEARLY_ALL_AFTER,
        over: bool = False,
    ) -> Advice:
        """What to tell, with the newest verdict on each page. `over`: the crawl has ended, and what
        it did not find it will not."""
        rows = [*judged]
        relevant = sum(row.relevant for row in rows)
        known = [word for word in self._forms if self._having[word]]
        unknown = {word: self._nearest(word) for word in self._forms if not self._having[word]}
        warning = ""
        nothing = len(rows) >= none_after and relevant <= 1
        nothing |= over and bool(rows) and not relevant
        if nothing:
            some = f"only 1 of {len(rows)}" if relevant else f"none of {len(rows)}"
            why = _TOO_FEW if over and len(rows) < FEW else self._why_none(known, unknown)
            warning = f"{some} pages is relevant: {why}"
        elif over and len(rows) >= none_after and relevant <= FEW_FOUND and self._forms:
            warning = (
                f"only {relevant} of {len(rows)} pages are relevant: if more should be, say yes to "
                "one of those below that do not count"
            )
        elif (
            len(rows) >= nearly_all_after
            and relevant >= NEARLY_ALL * len(rows)
            and not self._asks_no_words
        ):
            warning = f"{relevant} of {len(rows)} pages are relevant, nearly all: {self._why_all()}"
        return Advice(
            "" if self._wish is None else str(self._wish),
            len(rows),
            relevant,
            known,
            unknown,
            self._suggestion(unknown),
            _near(rows),
            warning,
            _shown(max(rows, key=lambda row: row.score)) if nothing and _have_score(rows) else None,
            self._site_words() if nothing and not self._asks_no_words else (),
        )

    @property
    def _asks_no_words(self) -> bool:
        """Whether the wish is one for a language, a kind of file or an address alone: words of the
        pages say nothing of it then, and every page of a folder may be what is wanted."""
        return self._by_rule or (self._wish is not None and not self._forms)

    def _site_words(self) -> Sequence[str]:
        """Words of the titles, headings and texts seen that many pages have."""
        most = NEARLY_ALL * min(self._pages, VOCABULARY_PAGES)
        words = (
            (-pages, word)
            for word, pages in self._vocabulary.items()
            if 1 < pages < most and len(word) > 3 and word not in STOP_WORDS and word.isalpha()
        )
        return tuple(word for _, word in nsmallest(_SITE_WORDS, words))

    def _why_none(self, known: Sequence[str], unknown: Mapping[str, Sequence[str]]) -> str:
        if self._asks_no_words:
            return "begin at a page nearer to what you want, or widen --scope"
        if not self._forms:
            return "begin at another page, or describe the topic otherwise"
        if not known:
            return "they have no word of the topic; write words that they use"
        if unknown:
            return "they lack a word of the topic; leave it out, or put a comma between the words"
        if not self._together and len(known) > 1:
            return "no page has all words; put commas between them for any of them"
        return "they have the words, but are not about them; write fewer or broader words"

    def _why_all(self) -> str:
        if self._wish is None:
            return (
                "if that is too many, say more narrowly what counts, or label some that should not"
            )
        seen = min(self._pages, VOCABULARY_PAGES)
        common = [
            f"*{word}*"
            for word in self._forms
            if word in STOP_WORDS or self._having[word] >= NEARLY_ALL * seen
        ]
        advice = "add a rarer word, a phrase in quotes, or title:"
        if not common:
            return f"if that is too many, {advice}"
        stand = "stands" if len(common) == 1 else "stand"
        return f"{' and '.join(common)} {stand} on nearly every page; {advice}"

    def _nearest(self, word: str, most: int = 2) -> Sequence[str]:
        """The words of the pages that are most like this one."""
        if len(word) < 4 or _is_unspaced(word):
            return ()
        letters, matcher = set(word), SequenceMatcher(b=word)
        found = []
        for other, pages in self._vocabulary.items():
            if abs(len(other) - len(word)) > 2 or len(letters & set(other)) < len(letters) - 2:
                continue
            matcher.set_seq1(other)
            if matcher.quick_ratio() >= _ALIKE and (alike := matcher.ratio()) >= _ALIKE:
                found.append((-alike, -pages, other))
        return tuple(other for *_, other in sorted(found)[:most])

    def _suggestion(self, unknown: Mapping[str, Sequence[str]]) -> str:
        instead = {
            word: nearest[0]
            for word, nearest in unknown.items()
            if nearest and _is_meant(word, nearest[0])
        }
        if self._wish is None or not instead:
            return ""
        return self._wish.with_words(lambda word: instead.get(word.lower(), word)).query


def _is_meant(word: str, other: str) -> bool:
    """Whether a word may be a slip for the other: one letter too many, missing or another, two
    exchanged, or alike where both are long. *read* is none for *thread*."""
    matcher = SequenceMatcher(b=word, a=other)
    edits = [edit for edit in matcher.get_opcodes() if edit[0] != "equal"]
    one = len(edits) == 1 and max(edits[0][2] - edits[0][1], edits[0][4] - edits[0][3]) == 1
    return one or sorted(word) == sorted(other) or matcher.ratio() >= _MEANT


def _have_score(rows: Sequence[Verdict]) -> bool:
    return any(row.score > 0 for row in rows)


def _shown(row: Verdict) -> NearPage:
    return NearPage(row.url, row.title, row.score, row.relevant)


def _near(rows: Sequence[Verdict]) -> Sequence[NearPage]:
    """The weakest of the relevant pages and the strongest of the others, of those that are not
    wholly one or the other."""
    unsure = [_shown(row) for row in rows if 0.0 < row.score < 1.0 and not row.settled]
    yes = sorted((row for row in unsure if row.relevant), key=lambda row: row.score)
    no = sorted((row for row in unsure if not row.relevant), key=lambda row: -row.score)
    half = _NEAR // 2
    return (*yes[: max(half, _NEAR - len(no))], *no[: max(half, _NEAR - len(yes))])


def _stems(word: str) -> frozenset[str]:
    return frozenset(stem(tokens(word)))


def _is_unspaced(word: str) -> bool:
    """Whether a word has letters of a script that is written without spaces: what is between two
    spaces is no word there."""
    return any("\u2e80" <= letter <= "\uffdc" and not _is_hangul(letter) for letter in word) or any(
        "\u0e00" <= letter <= "\u0eff" or "\u1000" <= letter <= "\u109f" for letter in word
    )


def _is_hangul(letter: str) -> bool:
    return "\u3130" <= letter <= "\u318f" or "\uac00" <= letter <= "\ud7af"


def answers_in_words(costs: Mapping[str, float]) -> str:
    """What a judge that asks says of its answers (`KeepsAnswers.costs`), for a person."""
    line = f"{costs['asked']:g} answers, cost {costs['cost']:g}; "
    line += f"{costs['fell_back']:g} pages judged without"
    if "agreed" in costs:
        line += f"; {costs['agreed']:g} agreed with the verdict before, in {costs['seconds']:g} s"
    return line
