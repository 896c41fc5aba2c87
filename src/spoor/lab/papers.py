"""What a paper published beside what the lab found: one page, its verdicts made from intervals.

Published values and claims are data: `page.toml` beside the experiments of a paper. It has
`title`, `source`, `about`, `changed` (how claims were decided on the page before), `timed` (whether
its figures are CPU times, which are left out elsewhere), and

- `[[claims]]`: what the paper `says`, with `where` it says so and its own words (`quote`) or
  figures (`published`), as a comparison of contender `one` with `other` by a `measure` in one
  `experiment` (of several that are named, the first that was run), perhaps of one `web`, some
  `sites` or one `target` (a topic, for tasks) only.
  `expects` is `better` (the default), `worse`, `same` (within `margin`, a share of the other), `not
  worse` (by more than `margin`) or a `ratio` of the two within `band = [low, high]`. `other` may be
  a number. With a measure `graph KEY`, of the links of the webs that experiments drew, `one` and
  `other` are experiments. Every claim is limits to how many times the other the one is, and decided
  by `spoor.lab.compare.answer`. `why`: what a difference from the paper comes from, with the
  measurement that shows it. `was`: the verdict on the page before, and `because`, what changed
  since.
- `[[values]]`: a published `table`, with `rows` of `name`, contender `ours`, `measure` and the
  `published` number (or `web` and `graph`, a measure of its links), and a `note`.
- `[[figures]]`: mean curves of some `contenders`, with `published` points [x, y] in percent; of
  tasks and fleets, a `figure` by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from spoor.errors import InputError, taking_in
from spoor.files import read_toml
from spoor.lab import compare, results
from spoor.lab.experiment import PACKAGED, PAGE
from spoor.lab.intervals import interval, ratio_interval
from spoor.lab.pages import Block, Grid, Heading, Page, Picture, Prose, between, number
from spoor.lab.reports.matrix import TITLE, matrix_blocks
from spoor.lab.reports.report import failed_blocks, foot, page_of_results, report_of
from spoor.lab.results import Results
from spoor.registry import nearest

NOT_RUN = "not run"
VERDICTS = (*compare.ANSWERS, NOT_RUN)
_SAME = {compare.UNTOLD: ("undecided",)}
"""Verdict → its names on older pages."""

KEYS: Mapping[str, frozenset[str]] = {
    "page": frozenset(
        {"title", "source", "about", "changed", "timed", "claims", "values", "figures"}
    ),
    "claims": frozenset(
        "says where quote published experiment web sites target measure one other expects margin "
        "band why was because".split()
    ),
    "values": frozenset({"table", "experiment", "web", "target", "rows", "note"}),
    "figures": frozenset(
        "caption experiment web target contenders published figure until axis".split()
    ),
}

NEEDED: Mapping[str, Sequence[str]] = {
    "page": ("title", "source"),
    "claims": ("says", "experiment", "measure", "one", "other"),
    "values": ("table", "experiment", "rows"),
    "figures": ("caption", "experiment"),
}

EXPECTS = ("better", "worse", "same", "ratio", "not worse")

Table = Mapping[str, Any]
"""A table of `page.toml`."""

Checked = tuple[Table, str, int, str]
"""A claim, our result in words, the number of pairs, and one of `VERDICTS`."""


def page_of(folder: Path) -> Page:
    """The page of a folder of results: an experiment's report, or, of a folder with several, a
    paper's page or a joint report. Raises InputError where there are none."""
    experiments = list(results.read_all(folder))
    content = None if (folder / results.FILE).exists() else read(folder)
    with results.taking_in_results(folder):
        if (folder / results.FILE).exists():
            return page_of_results(experiments[0])
        if content is None or not content.get("claims"):
            return joint(folder, experiments, content or {})
        return page(content, experiments)


def read(folder: Path) -> Table | None:
    """The `page.toml` of a folder, or that of the package's experiments of its name. Raises
    InputError for one that cannot be used."""
    packaged = Path(str(files("spoor.lab") / PACKAGED)) / folder.resolve().name / PAGE
    file = folder / PAGE if (folder / PAGE).exists() else packaged
    if not file.exists():
        return None
    try:
        content = read_toml(file)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{file} cannot be used: {why}") from error
    with taking_in(str(file), "mend its tables"):
        for kind in KEYS:
            for item in [content] if kind == "page" else content.get(kind, []):
                _check(item, kind, f"{file}: {kind}")
    return content


def _check(item: Table, kind: str, where: str) -> None:
    keys = sorted(KEYS[kind])
    for key in item:
        if key not in keys:
            raise InputError(f"{where} have no {key!r}{nearest(key, keys)}")
    for key in NEEDED[kind]:
        if key not in item:
            raise InputError(f"{where} need {key!r}; one has only {', '.join(item) or 'nothing'}")
    expects = item.get("expects", "better")
    if expects not in EXPECTS:
        offer = nearest(expects, list(EXPECTS))
        raise InputError(f"{where}: expects is {', '.join(EXPECTS)}, not {expects!r}{offer}")
    if expects == "ratio" and len(item.get("band", ())) != 2:
        raise InputError(f"{where}: a ratio needs band = [low, high]")
    for row in item.get("rows", ()):
        if "name" not in row or not ({"ours", "measure"} <= row.keys() or "graph" in row):
            raise InputError(f"{where}: a row has name, ours and measure (or name, web and graph)")


def joint(folder: Path, experiments: Sequence[Results], content: Table) -> Page:
    """Several experiments on one page, and who beats whom over all of them."""
    blocks: list[Block] = []
    kinds = {item.kind for item in experiments}
    if kinds == {"harvest"} and len(experiments) > 1:
        blocks += matrix_blocks(experiments, compare.MEASURE["harvest"])
    for item in experiments:
        blocks += [Heading(item.title), Prose(item.about), *figures_of(item, pictures=True)]
    title = content.get("title") or folder.resolve().name.replace("-", " ").capitalize()
    names = ", ".join(f"`{item.name}`" for item in experiments)
    lead = f"{content.get('source', '').strip()}\n\nOn this page: {names}."
    return Page(title, lead, blocks, foot=foot(experiments))


def figures_of(item: Results, *, pictures: bool = False) -> Iterator[Block]:
    """The table of an experiment, perhaps with its pictures, without comparisons of pairs."""
    yield from failed_blocks(item)
    skipping = False
    for block in report_of(item).blocks(item):
        if isinstance(block, Heading):
            skipping = block.text == TITLE
        elif isinstance(block, Picture):
            if pictures:
                yield block
        elif not skipping:
            yield block


# ---------------------------------------------------------------- a paper


def page(content: Table, experiments: Sequence[Results]) -> Page:
    """The page of a paper from its data and our results."""
    by_name = {item.name.rpartition("/")[2]: item for item in experiments}
    checked = [(claim, *verdict(claim, by_name)) for claim in content.get("claims", ())]
    blocks: list[Block] = []
    if checked:
        blocks += [Heading("What holds, what does not"), Prose(_summary(checked))]
        blocks.append(_claims(checked))
        blocks += [
            Prose(f"**{full_name(claim, content['claims'])}**: {state}. {claim['why']}")
            for claim, _, _, state in checked
            if claim.get("why") and state not in (compare.HOLDS, NOT_RUN)
        ]
        blocks += _changed(checked, content)
    if content.get("values"):
        blocks.append(Heading("Published beside ours"))
        for item in content["values"]:
            blocks += _values(item, by_name)
    figures = [block for item in content.get("figures", ()) for block in _figure(item, by_name)]
    if figures:
        blocks += [Heading("Figures"), *figures]
    blocks.append(Heading("All that was measured"))
    for item in experiments:
        tables = figures_of(item) if content.get("timed") else map(_untimed, figures_of(item))
        blocks += [Heading(item.title, 3), Prose(item.about), *tables]
    lead = "\n\n".join(
        part.strip() for part in (content["source"], content.get("about", ""), form(experiments))
    )
    names = ", ".join(f"`{item.name}`" for item in experiments)
    made = f"Made by `spoor lab run` and `spoor lab report` from {names}."
    return Page(content["title"], lead, blocks, foot=made)


def form(experiments: Sequence[Results]) -> str:
    """Whether the short or the long form of a paper's experiments was run, and how the short one
    differs."""
    short = [
        f"`{item.name.rpartition('/')[2]}` ({', '.join(item.settings['shortened'])})"
        for item in experiments
        if item.settings.get("shortened")
    ]
    if not short:
        return "All experiments of this page were run in full."
    return (
        f"**Short form.** {', '.join(short)} are short forms, which `make paper-figures` runs. "
        "`make paper-figures-full` runs all of it in full and writes this page anew."
    )


def _untimed(block: Block) -> Block:
    """A table without its columns of CPU time: no two runs have the same, and a page is the same
    whenever it is made."""
    if not isinstance(block, Grid):
        return block
    kept = [number for number, name in enumerate(block.head) if not name.startswith("CPU")]
    rows = [[row[number] for number in kept] for row in block.rows]
    return replace(block, head=[block.head[number] for number in kept], rows=rows)


def full_name(claim: Table, claims: Sequence[Table]) -> str:
    """What a claim says; of one that begins with "…", after the claim that it goes on from, up to
    its colon."""
    if not claim["says"].startswith("…"):
        return str(claim["says"])
    before = claims[: claims.index(claim)]
    first = next(it["says"] for it in reversed(before) if not it["says"].startswith("…"))
    beginning, colon, _ = first.rpartition(": ")
    return f"{beginning if colon else first} {claim['says']}"


def _changed(checked: Sequence[Checked], content: Table) -> Iterator[Block]:
    """The verdicts that are others than on the page before, and why."""
    rows = [
        [full_name(claim, content["claims"]), claim["was"], state, claim.get("because", "–")]
        for claim, _, _, state in checked
        if claim.get("was") not in (None, state, *_SAME.get(state, ())) and state != NOT_RUN
    ]
    if rows:
        yield Heading("Verdicts that changed")
        yield Prose(content.get("changed", ""))
        yield Grid(("claim", "was", "is", "what changed"), rows)


def _summary(checked: Sequence[Checked]) -> str:
    counts = {state: sum(outcome == state for *_, outcome in checked) for state in VERDICTS}
    plural = {"holds": "hold", "does not hold": "do not hold"}
    summary = ", ".join(
        f"{count} {plural.get(state, state) if count > 1 else state}"
        for state, count in counts.items()
        if count
    )
    return f"{len(checked)} claims: {summary}. {RULE}"


RULE = (
    "One rule decides all of them. A pair is a task: a site with a target, a topic, or a web of a "
    "fleet, each side's seeds averaged first; the seeds of one crawl are no pairs. A claim is a "
    "limit, or two, to how many times the other the one is: 1 for better or worse. It holds where "
    "the one differs from every limit to the inside, and does not hold where it differs from one "
    "of them to the outside: the 95 % interval of the difference to the limit over the pairs "
    "(bootstrap; Student's t below ten pairs) leaves out 0, and a permutation test of the signs "
    "gives p < .05. Else it cannot be told at this size; with five pairs or fewer it never can, "
    "since that test has no p below .0625. Intervals beside the figures are of the difference "
    "(positive where the first is better), or of the ratio. `spoor lab compare --correct none` "
    "decides by the same rule. Each claim stands for itself: of twenty, one goes wrong by chance."
)
"""How a claim is decided, in words."""


def _claims(checked: Sequence[Checked]) -> Grid:
    rows = [
        [
            claim["says"],
            " · ".join(filter(None, (claim.get("where"), _quoted(claim), claim.get("published")))),
            ours,
            str(pairs) if pairs else "–",
            f"**{state}**",
        ]
        for claim, ours, pairs, state in checked
    ]
    return Grid(("the paper says", "published", "ours", "pairs", "verdict"), rows)


def _quoted(claim: Table) -> str:
    return f"“{claim['quote']}”" if claim.get("quote") else ""


def verdict(claim: Table, by_name: Mapping[str, Results]) -> tuple[str, int, str]:
    """(our result, in words; the number of pairs; one of `VERDICTS`) for one claim."""
    item = _results(claim, by_name)
    one, other = claim["one"], claim["other"]
    if item is None:
        return "–", 0, NOT_RUN
    measure = claim["measure"]
    if measure.startswith(GRAPH):
        pairs = _graph_pairs(claim, by_name)
    else:
        pairs = [
            (it[one], float(other) if isinstance(other, int | float) else it[other])
            for it in _pairs(item, claim)
            if one in it and (isinstance(other, int | float) or other in it)
        ]
    if not pairs:
        return "–", 0, NOT_RUN
    less = measure.startswith(compare.LESS_IS_BETTER)
    state = compare.answer(pairs, *limits(claim, less))
    ours, theirs = zip(*pairs, strict=True)
    means = f"{_shown(np.mean(ours), measure)} against {_shown(np.mean(theirs), measure)}"
    if claim.get("expects") == "ratio":
        ratio, low, high = ratio_interval(ours, theirs)
        return f"{means}: {ratio:.2f} times ({between(low, high, 2)})", len(pairs), state
    told = compare.paired(one, other, pairs, less=less)
    inside = _between(told.low, told.high, measure)
    return f"{means}: {_signed(told.difference, measure)} ({inside})", len(pairs), state


def limits(claim: Table, less: bool) -> tuple[float | None, float | None]:
    """How many times the other a claim says that the one is: more than, less than. `less`: the
    smaller value is the better one."""
    expects = claim.get("expects", "better")
    if expects == "ratio":
        low, high = claim["band"]
        return low, high
    if expects == "same":
        margin = claim.get("margin", 0.1)
        return 1 - margin, 1 + margin
    if expects == "not worse":
        margin = claim.get("margin", 0.1)
        return (None, 1 + margin) if less else (1 - margin, None)
    return (None, 1.0) if less == (expects == "better") else (1.0, None)


GRAPH = "graph "
"""How the name of a measure of a web's links begins, of a claim: `graph clustering`."""


def _graph_pairs(claim: Table, by_name: Mapping[str, Results]) -> list[tuple[float, float]]:
    """A measure of the links of each web that was drawn, of experiment `one` and of `other`, which
    may be a number."""
    one, other = claim["one"], claim["other"]
    ours = _drawn(by_name, one, claim["web"], claim["measure"].removeprefix(GRAPH))
    if isinstance(other, int | float):
        return [(value, float(other)) for value in ours]
    theirs = _drawn(by_name, other, claim["web"], claim["measure"].removeprefix(GRAPH))
    return list(zip(ours, theirs, strict=False))


def _drawn(by_name: Mapping[str, Results], name: str, web: str, key: str) -> list[float]:
    """A measure of the links of each web that an experiment drew."""
    item = by_name.get(name)
    values: list[Any] = [] if item is None else item.more.get("drawn", {}).get(web, [])
    for part in key.split("."):
        values = [None if value is None else value.get(part) for value in values]
    return [float(value) for value in values if value is not None]


def _results(table: Table, by_name: Mapping[str, Results]) -> Results | None:
    """The experiment that something is about; where several are named, the first that was run."""
    named = table["experiment"]
    names = [named] if isinstance(named, str) else named
    return next((by_name[name] for name in names if name in by_name), None)


def _pairs(item: Results, table: Table) -> list[Mapping[str, float]]:
    """Contender → value for each pair that a claim is about."""
    units = compare.units([_part(item, table)], table["measure"])
    return list(units.values())


def _part(item: Results, table: Table) -> Results:
    where = {"web": table.get("web"), report_of(item).target_key: table.get("target")}
    rows = [
        row
        for row in item.rows
        if all(row[key] == value for key, value in where.items() if value is not None)
        and row.get("site") in table.get("sites", [row.get("site")])
    ]
    return replace(item, rows=rows)


def _values(table: Table, by_name: Mapping[str, Results]) -> Iterator[Block]:
    item = _results(table, by_name)
    yield Heading(table["table"], 3)
    if item is None:
        yield Prose("Not run.")
        return
    rows = []
    for row in table["rows"]:
        if "graph" in row:
            rows.append(_graph_row(by_name, {**table, **row}))
            continue
        ratios = [
            pair[row["ours"]] for pair in _pairs(item, {**table, **row}) if row["ours"] in pair
        ]
        low, high = interval(ratios)
        published = row.get("published")
        rows.append(
            [
                row["name"],
                "–" if published is None else _shown(published, row["measure"]),
                _shown(np.mean(ratios), row["measure"]) if ratios else "–",
                _between(low, high, row["measure"]),
                str(len(ratios)),
                _within(published, low, high),
            ]
        )
    yield Grid(("", "published", "ours", "95 %", "n", "published within ours"), rows)
    if table.get("note"):
        yield Prose(table["note"])


def _graph_row(by_name: Mapping[str, Results], row: Table) -> list[str]:
    """A measure of the links of the webs that an experiment drew."""
    values = _drawn(by_name, row["experiment"], row["web"], row["graph"])
    low, high = interval(values)
    published = row.get("published")
    return [
        row["name"],
        number(published, 3),
        number(float(np.mean(values)) if values else None, 3),
        between(low, high, 3),
        str(len(values)),
        _within(published, low, high),
    ]


def _within(published: float | None, low: float | None, high: float | None) -> str:
    if published is None or low is None or high is None:
        return "–"
    return "yes" if low <= published <= high else "no"


def _figure(figure: Table, by_name: Mapping[str, Results]) -> Iterator[Block]:
    item = _results(figure, by_name)
    if item is not None:
        yield from report_of(item).figures(item, _part(item, figure).rows, figure)


def _shown(value: float | np.floating[Any], measure: str) -> str:
    figure = float(value)
    size = abs(figure)
    if measure.startswith("requests_to"):
        return f"{figure:.1%}".replace("%", " %")
    if size >= 10:
        return f"{figure:,.0f}" if size >= 100 else f"{figure:.1f}"
    return number(figure, 4 if 0 < size < 0.1 else 3)


def _signed(value: float, measure: str) -> str:
    return ("+" if value >= 0 else "−") + _shown(abs(value), measure)


def _between(low: float | None, high: float | None, measure: str) -> str:
    if low is None or high is None:
        return "–"
    return f"{_shown(low, measure)} … {_shown(high, measure)}".replace("-", "−")
