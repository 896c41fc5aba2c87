"""One feedback of the default judge (`spoor.judges.relevance`): from the pages that a crawl has
kept, which of them are the surest, what these have in common, what each page is worth by that, and
where the cut is between pages that are relevant and others.

Pure: pages and labels → numbers. O(words of all pages).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spoor.judges.relevance.cut import NONE, Labels, lowered, parted, unclear
from spoor.judges.relevance.feedback import EVIDENCE, Model
from spoor.judges.relevance.frequencies import Floats, Frequencies
from spoor.judges.relevance.kept_pages import (
    KEPT,
    KeptPage,
    copies,
    elsewhere,
    filing_sites,
    further_parts,
    may_be_told,
    views_again,
)
from spoor.judges.relevance.linked import Linked, Links
from spoor.judges.relevance.many_sites import (
    Sites,
    Templates,
    are_many,
    cut_by_sites,
    frames_of,
    sites_read,
    weights_of_mentions,
    without_frames,
)
from spoor.judges.relevance.repeated import repeating
from spoor.judges.relevance.surest_pages import SEEDS, SURE, Kept, likeness_to_surest, written_alike
from spoor.judges.relevance.term_matrix import matrix
from spoor.judges.relevance.word_evidence import Said

LINKED = 0.4
"""Weight of what the words say of the pages that a page links to, and of those that link to it."""
LED = 0.5
"""Weight of the values of the pages that link to it."""
REFUSED = 0.25
"""Weight of pages that are not wanted, beside the mean of all."""
AGAIN = 1.5
"""Weight of the words, as a share of the most on any page, where likeness parts nothing …"""
MUCH = 0.7
"""… and of so much, where no page has more."""
SAID = 0.3
"""Weight of the evidence of a page once more, as a share of the best value, when all else is known:
what is linked with sure pages, and like them, still has to say the words …"""
SAID_CUT = 1.2
"""… and the fixed cut is so many times as high then."""
FEW_ABOVE = 4
"""Where fewer pages are above the cut, and a person says that one below it is wanted, a few pages
stand out for their words: the cut is found anew without that, by values that are at most …"""
BEST = 10
"""… the mean of so many best."""
STRONG = 0.3
"""Least evidence of pages that say the words themselves …"""
STRONG_SHARE = 0.7
"""… as a share of the most that any page has, too; the cut is lowered
until half of them are relevant."""
NOTHING = 1.5
"""Where no page says the whole wish, what its words say of the best one is something else
(*operators* of railways, where those of Kubernetes are wanted): the cut is at least so many times
the best value, and as much more evidence is needed to be relevant by it alone."""
VALUE_CUT = 1.0
"""The fixed cut of values; where no page links to another, half of what a value can reach."""
DOUBT = 40.0
"""So many pages are worth as much as the fixed cut when the cut is found …"""
LABEL = 10.0
"""… and a label of a person as much as so many pages."""
OF_LISTS = 1e-6
"""What a list page counts where the cut is found, if lists are no results: not nothing, since
groups are compared by their means."""
ENOUGH = 30.0
"""Pages up to which the higher cut holds; of more, by how many times as many they are."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Learned:
    """What one feedback found. Arrays have a number for each page of the crawl."""

    model: Model
    linked: Linked
    """What is known of pages that come later by the links of these."""
    values: Floats
    likeness: Floats
    """To the surest pages, of the topic that a page is most like."""
    likest: Sequence[str]
    """The name of that topic."""
    around: Floats
    """What the pages say that a page is linked with, as a part of its evidence."""


def learn(
    pages: Sequence[KeptPage],
    examples: int,
    said: Said,
    frequencies: Frequencies,
    views: Collection[str],
    read: frozenset[int],
    *,
    takes_lists: bool,
    tells_once: bool,
) -> Learned:
    """What pages teach: so many `examples`, and those of the crawl behind them. `views`: URLs of
    pages that show another one again; `read`: sites of which enough was read before; `tells_once`:
    a watch, in which a person labels what was told alone, by what was known then, so that this
    says little of the cut now. Sets what `said` knows of many sites."""
    sites = np.array([page.site for page in pages], np.uint64)
    words, frames = _said(pages, sites, said)
    links = Links(pages, frequencies)

    def with_linked(its: Floats) -> Floats:
        return np.minimum(1.0, its + LINKED * (links.outward(its) + links.inward(its)))

    evidence = with_linked(words)
    # What is no result has no say in what is one: a page of a tag says little but its name.
    documents = may_be_told(pages, views, lists=takes_lists)
    once = documents & ~views_again(pages) & ~further_parts(pages)
    may_speak = once if once.any() else documents
    first, shares_of_copies = copies(pages, may_speak)
    filing = filing_sites(pages)
    first &= may_speak & ~elsewhere(pages, filing)
    best = float(evidence[documents].max())
    model = Model(
        best_words=float(words[documents].max()),
        best_evidence=best,
        evidence_weight=EVIDENCE / best if best else 0.0,
        pages=max(frequencies.pages, 1),
        many_sites=said.many_sites,
        frames=frames,
        mention=said.mention,
        filing=filing,
        read=sites_read(sites, read) if said.many_sites else frozenset(),
    )
    allowed = np.array([page.tongue for page in pages]) >= 0.5
    allowed &= ~said.unwanted(pages)
    value = np.where(allowed, np.minimum(1.0, evidence / best) if best else 0.0, 0.0)
    among = _beside_the_rest(pages, sites, first, allowed, value, frequencies, said.many_sites)
    sure = among.sure(evidence) & first
    model.sure = float((sure | (among.labels > 0)).sum())
    # The parts of the wish that are topics of their own, each with its surest pages.
    apart = [(name, with_linked(its)) for name, its in said.topics(pages, first)]
    apart = apart or [("", evidence)]
    found = [likeness_to_surest(among, its) for _, its in apart]
    names = [name for name, _ in apart]
    like = np.array([its for its, _ in found])
    likeness = like.max(axis=0)
    if topics := [
        replace(topic, name=name)
        for name, (_, topic) in zip(names, found, strict=True)
        if topic is not None
    ]:
        model.topics = topics
        value = among.values(evidence, likeness)
    wanted = np.where(among.may_be_wanted, value, 0.0)
    linked = links.tables(words, wanted)
    value = np.where(allowed, value + LED * links.inward(wanted), 0.0)
    model.seed_words = float(np.sort(evidence[first])[-SEEDS * len(found) :][0])
    fixed = VALUE_CUT if links.known else 0.5 * (EVIDENCE * bool(best) + 1.0)
    crawled = slice(examples, None)

    def counted_now() -> Floats:
        """Of the pages of the crawl; a page that is refused has none."""
        return np.where(among.may_be_wanted, value, 0.0)[crawled]

    counted = counted_now()
    if len(counted):
        others = max(0, frequencies.pages - len(pages))
        stands_for = _stand_for(counted, others)
        stands_for *= shares_of_copies[crawled]
        stands_for *= np.maximum(documents[crawled], OF_LISTS)
        # Words again, beside likeness.
        if model.best_words:
            most_words = max(model.best_words, MUCH)
            model.again = AGAIN * unclear(counted, stands_for) / most_words
            value += np.where(allowed, model.again * words, 0.0)
        if best:
            more = SAID * max(float(counted_now().max()), 0.0) / best
            value += np.where(allowed, more * evidence, 0.0)
            model.evidence_weight += more
            fixed *= SAID_CUT
        counted = counted_now()
        strong = words[crawled] >= max(STRONG, STRONG_SHARE * model.best_words)
        of_sites = sites[crawled] if said.many_sites else None
        # What is no result for another reason than its value tells nothing of the cut.
        tells = np.flatnonzero((first & allowed & (among.labels != 0))[crawled])
        labels = Labels(value[crawled][tells], np.sign(among.labels[crawled][tells]))
        cuts = _cuts(counted, stands_for, fixed, strong, labels, of_sites, moves=not tells_once)
        model.cut, model.cut_of_new = cuts
        model.top = float(np.sort(counted)[-BEST:].mean())
        if not (among.labels > 0).any() and said.wholly(pages)[documents].max() < SURE:
            model.cut = max(model.cut, NOTHING * float(counted.max()))
            model.cut_of_new = max(model.cut_of_new, model.cut)
            model.best_words *= NOTHING
    else:
        model.cut = model.cut_of_new = fixed
        model.top = EVIDENCE + 1.0
    model.top = max(model.top, model.cut_of_new * 1.1)
    likest = [names[at] for at in like.argmax(axis=0)[crawled]]
    around = (evidence - words)[crawled]
    return Learned(model, linked, counted, likeness[crawled], likest, around)


def _said(pages: Sequence[KeptPage], sites: Sites, said: Said) -> tuple[Floats, dict[int, float]]:
    """What the words of the wish say of pages, and where there are many sites what those of each
    say as a rule, which is left out."""
    said.many_sites = are_many(sites)
    said.mention = weights_of_mentions(pages, sites) if said.many_sites else None
    words = said.wanted(pages)
    if not said.many_sites:
        return words, {}
    texts = [(page.site, page.in_text) for page in pages if page.in_text is not None]
    frames = frames_of(words, sites, repeating(texts))
    return without_frames(words, sites.tolist(), frames), frames


def _beside_the_rest(
    pages: Sequence[KeptPage],
    sites: Sites,
    first: Flags,
    allowed: Flags,
    value: Floats,
    frequencies: Frequencies,
    many_sites: bool,
) -> Kept:
    """The pages beside the rest of the site, with which the surest are compared: where most pages
    of a crawl are wanted, what they have in common would count as the site's commonplaces."""
    labels = np.array([page.label for page in pages])
    refused = labels < 0
    likely = np.where(labels > 0, 1.0, np.sqrt(value)) * (labels >= 0)
    rows = matrix(pages, frequencies, likely)
    rest = written_alike(1.0 - likely, likely, np.array([page.script for page in pages]))
    shares_of_rest = rest / max(float(rest.sum()), 1e-9)
    background = rows.sum_of_rows(shares_of_rest + REFUSED * refused / max(1, refused.sum()))
    templates = Templates(pages, sites, frequencies) if many_sites else None
    return Kept(rows, background, labels, allowed, first, templates)


def _stand_for(values: Floats, others: int) -> Floats:
    """How many pages each kept page stands for: of those that are kept as a sample, also for the
    `others` that were dropped."""
    weights = np.ones(len(values))
    if others and len(values) > KEPT // 3:
        sample = np.argsort(-values, kind="stable")[KEPT // 3 :]
        weights[sample] += others / len(sample)
    return weights


def _cuts(
    counted: Floats,
    stands_for: Floats,
    fixed: float,
    strong: Flags,
    labels: Labels,
    sites: Sites | None,
    *,
    moves: bool,
) -> list[float]:
    """The cut between values, and that for pages that come. `strong`: pages that say the words
    themselves; `sites`: where there are many; `moves`: whether the labels move the cut."""
    moved_by = labels if moves else NONE
    doubt = DOUBT / (DOUBT + stands_for.sum() + LABEL * len(moved_by.values))
    doubts = min(1.0, ENOUGH / stands_for.sum()), min(1.0, 2.0 * doubt)

    def cuts_of(values: Floats) -> list[float]:
        found = parted(values, stands_for, doubts, moved_by)
        if sites is not None:
            found = [cut_by_sites(values, stands_for, sites, found[0])] * 2
        cuts = (max((1.0 - doubt) * cut + doubt * fixed, 1e-6) for cut in found)
        return [lowered(cut, counted[strong]) for cut in cuts]

    values = np.maximum(counted, 0.0)
    cuts = cuts_of(values)
    above = float(stands_for[counted >= cuts[0]].sum())
    if above < FEW_ABOVE and (labels.values[labels.signs > 0] < cuts[0]).any():
        cuts = cuts_of(np.minimum(values, np.sort(values)[-BEST:].mean()))
    return cuts
