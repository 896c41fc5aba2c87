"""The report of a duel: where Spoor loses, means, differences with their intervals, each task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import mean, median
from typing import Any

from spoor.lab.compare import HEAD, Comparison, corrected, line, paired
from spoor.lab.duel import probe
from spoor.lab.duel.dataset import BUDGETS, HALVES
from spoor.lab.pages import Block, Grid, Heading, Picture, Prose, number
from spoor.lab.reports.report import Report
from spoor.lab.results import Cells, Results, grouped

OURS = "spoor"
TITLES = {
    "reported": "Sites that nobody tuned on",
    "development": "Sites that earlier work tuned Spoor on",
}
LEAST_PAIRS = 6
"""With fewer tasks no difference can be told at 95 %, and each line makes the correction harder."""
NAMED = 0.1
"""Share of the requests that failed, asked again or went to one folder, from which it is named."""
GOLD_WITHIN = (12, 30, 100)
MAIN = BUDGETS[:-1]
"""Budgets of the tables over all tasks; the largest has a section of its own."""
KINDS = {
    "ordinary": ("Parts of a site, and pages that speak of something", ""),
    "language": ("Another language", "The wish and the pages are not in English."),
    "pdf": ("PDF files", "The right pages are PDF files."),
    "hosts": ("Twenty hosts", "A portal links to twenty sites, and right pages are on many."),
}

BESIDE = ("failures", "robots", "sitemaps", "redirects")
"""Counts of requests that stand in columns of their own."""

Table = Mapping[str, Mapping[str, float]]
"""Rival → task → figure."""


def blocks(results: Results) -> Iterator[Block]:
    """All tables, the losses first."""
    yield Prose(
        "A budget is a number of **requests for pages**, as nginx logged them: failures and HEAD "
        "requests count, robots.txt, sitemaps and redirects stand in columns of their own, "
        "styles and images are left out. A recall is the share of a task's right pages "
        "that were sent within the budget. Every rival has the network to itself, with addresses "
        "that look public."
    )
    for half in HALVES:
        rows = [row for row in results.rows if row["half"] == half]
        if rows:
            yield from _half(rows, half, results)
    probes = [row for row in results.rows if row["probe"]]
    if probes:
        yield Heading("What each does beside finding pages")
        yield Prose(
            f"Counted on a small made site: {probe.PAGES} pages, ten more that its robots.txt "
            f"forbids and that eleven pages link to, {probe.RATE} requests a second. After "
            f"{probe.KILL_AT} requests for pages all processes of the rival are killed, and it is "
            "started again in the same folder, with what its documentation says a crawl needs to "
            "go on. *Asked again* are pages that the first part had and the second asked for once "
            "more. A score is a number for a page, reasons are words; shares are of the pages "
            "that it reports."
        )
        yield beside(probes)
    yield Heading("Who they are")
    yield Prose("All run on the same machine, each in an environment of its own.")
    first = {row["contender"]: row for row in reversed(results.rows)}
    lines = [
        [name, row["version"], row["settings"], row["how_told"] or "it does not say"]
        for name, row in first.items()
    ]
    yield Grid(("rival", "version", "settings", "what it says is relevant"), lines, names=4)
    absent = results.settings.get("settings", {}).get("absent", {})
    if absent:
        yield Prose("Not here:")
        yield Grid(("rival", "why"), [[name, why] for name, why in absent.items()], names=2)


def summary(results: Results) -> Iterator[Block]:
    """Means of the tasks with several right pages."""
    several = [row for row in results.rows if row["kind"] != "gold"]
    for half in HALVES:
        rows = [row for row in several if row["half"] == half]
        if rows:
            yield means(rows)


def figures(results: Results, rows: Cells, figure: Mapping[str, Any]) -> Iterator[Picture]:
    """None."""
    return iter(())


REPORT = Report(blocks, summary, figures, target_key="task")


def _half(rows: Cells, half: str, results: Results) -> Iterator[Block]:
    several = [row for row in rows if row["kind"] != "gold"]
    yield Heading(TITLES[half])
    here, there = len({row["task"] for row in rows}), results.more.get("tasks", {}).get(half)
    if there and here < there:
        version = results.more.get("dataset", "")
        yield Prose(f"{here} of the {there} tasks that the data set (version {version}) has.")
    lines = losses(rows)
    if lines:
        yield Heading("Where Spoor loses", 3)
        yield Prose(
            "Tasks on which the best rival has found more; widest difference first. Why is read "
            "by the command from both logs up to the budget, and from the links in the sites' "
            "files. A right page that was not sent stood as a link on a page that Spoor had: its "
            "order put others first; or on none: it had not found the way. Verdicts are those at "
            "the end of the crawl; the order learns from them as they are made."
        )
        head = ("task", "wish", "requests", "best rival", "it", "Spoor", "why")
        yield Grid(head, lines, names=4)
    if several:
        yield Heading("Spoor against each, over the tasks", 3)
        yield Prose(
            "Differences of recall in favour of Spoor, with 95 % intervals over the tasks that "
            f"both crawled, where these are {LEAST_PAIRS} or more; p corrected for all lines of "
            "the table (Holm)."
        )
        yield Grid(("requests", *HEAD[1:]), [*against(several, MAIN)], names=2)
        yield Heading("Means", 3)
        yield Prose(
            "Of each over the tasks that it crawled: where their numbers differ, the differences "
            "above are the fair comparison."
        )
        yield means(several)
    for kind, (title, text) in KINDS.items():
        of_kind = [row for row in several if row["kind"] == kind]
        if of_kind:
            yield Heading(title, 3)
            if text:
                yield Prose(text)
            yield at_budgets(of_kind, MAIN)
    gold = [row for row in rows if row["kind"] == "gold"]
    if gold:
        yield Heading("One right page", 3)
        yield Prose("Share of the tasks in which it was sent within so many requests.")
        yield at_budgets(gold, GOLD_WITHIN, "within")
    largest = BUDGETS[-1]
    long = [row for row in rows if row["budget"] == largest]
    if long:
        yield Heading(f"{largest:,} requests", 3)
        yield Prose("Crawls of their own, with the larger budget from their start.")
        yield at_budgets(long, BUDGETS)
        lines = [*against(long, BUDGETS[-2:])]
        if lines:
            yield Grid(("requests", *HEAD[1:]), lines, names=2)
    yield Heading("Cost", 3)
    yield Prose(
        "Medians over the crawls: CPU seconds and peak memory (MB) of all processes of a rival, "
        "bytes that the server sent. Elapsed time is no measure: some rivals pause between "
        "requests, and the machine had other work."
    )
    yield cost(rows)
    yield Heading("Each task", 3)
    yield by_task(rows)
    tried = tries(rows)
    if tried.rows:
        yield Heading("More than one try", 3)
        yield Prose("Of rivals that are random: the median and the range of their tries.")
        yield tried


# ---------------------------------------------------------------- figures


def recalls(rows: Cells, budget: int) -> Table:
    """Recall within a budget, the median of its tries, of the crawls with the least budget that
    reaches."""
    table: dict[str, dict[str, float]] = {}
    for (rival, task), mine in grouped(rows, "contender", "task").items():
        enough = [row["budget"] for row in mine if row["budget"] >= budget]
        if enough:
            tries = [row["recall"][str(budget)] for row in mine if row["budget"] == min(enough)]
            table.setdefault(rival, {})[task] = median(tries)
    return table


def own(rows: Cells) -> str:
    """Spoor's title in the rows; empty where it is not there."""
    return next((row["contender"] for row in rows if row["rival"] == OURS), "")


def losses(rows: Cells) -> list[list[str]]:
    """Tasks on which a rival is ahead, at 100 requests and more."""
    ours, wishes = own(rows), {row["task"]: row["wish"] for row in rows}
    lost = []
    for budget in BUDGETS[2:]:
        table = recalls(rows, budget)
        for task, share in table.get(ours, {}).items():
            others = {name: them[task] for name, them in table.items() if task in them}
            best = max(others, key=lambda name: others[name])
            if others[best] > share + 1e-9:
                lost.append((others[best] - share, budget, task, best, others[best], share))
    lost.sort(reverse=True)
    lines = []
    for _, budget, task, best, it, share in lost:
        crawls = [_traced(rows, name, task, budget) for name in (ours, best)]
        figures = (number(it), number(share))
        lines.append([task, wishes[task], f"{budget:,}", best, *figures, cause(*crawls)])
    return lines


def _traced(rows: Cells, name: str, task: str, budget: int) -> Mapping[str, Any]:
    """The first try of a contender with the least budget that reaches, and its trace."""
    crawls = [row for row in rows if (row["contender"], row["task"]) == (name, task)]
    reach = [row for row in crawls if row["budget"] >= budget]
    first = min(reach, key=lambda row: (row["budget"], row["seed"]))
    return {**first, **first["traces"][str(budget)]}


def cause(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """What two traces (`spoor.lab.duel.trace`) of a task say of the requests that ours cost."""
    return " ".join(_causes(ours, theirs, theirs["contender"]))


def _causes(ours: Mapping[str, Any], theirs: Mapping[str, Any], name: str) -> Iterator[str]:
    found, told, right, denied = (ours[key] for key in ("found", "told", "told_right", "denied"))
    if ours["linked"] < theirs["found"]:
        yield "**It came late, or not, to where the links to them are.**"
    elif denied > found / 2:
        yield "**Its verdicts deny most right pages that it had.**"
    elif right < told / 2:
        yield "**Most pages that its verdicts praise are not right.**"
    else:
        yield "**It had the links, and others came first.**"
    sent, on_links, on_none = _where(ours)
    other = ", ".join(map(str, _where(theirs)))
    yield (
        f"Right pages: {sent} sent, {on_links} only on links that it had, {on_none} on no page "
        f"that it had ({name}: {other})."
    )
    same = ours["list_url"] == theirs["list_url"]
    other = f"request {theirs['list_at']}" if same else _list(theirs)
    yield f"The page with most links to them: {_list(ours)} ({name}: {other})."
    spent = [
        f"{requests} went to {_short(folder, ours)}, {hits} of them right"
        for folder, requests, hits in ours["spent"]
        if requests > NAMED * ours["pages"] and _short(folder, ours) != "`/`"
    ]
    if spent:
        yield f"Of {ours['pages']} requests {'; '.join(spent)}."
    for key, what in (("failures", "failed"), ("again", "were for pages that it had")):
        if ours[key] > NAMED * ours["pages"]:
            yield f"{ours[key]} requests {what}."
    wrong = ", ".join(_short(url, ours) for url in ours["mistaken"])
    yield (
        f"Pages that its verdicts praise: {told}, {right} of them right"
        + (f" (not right: {wrong})" if wrong else "")
        + (f"; right ones that they deny: {denied}." if denied else ".")
    )


def _where(crawl: Mapping[str, Any]) -> tuple[int, int, int]:
    """Right pages that were sent, that were only on links, and that were on none."""
    linked = crawl["linked"]
    return crawl["found"], linked - crawl["found"], crawl["targets"] - linked


def _list(crawl: Mapping[str, Any]) -> str:
    """The page with most links to right pages, their number, and when it came."""
    if not crawl["list_url"]:
        return "none"
    return f"{_short(crawl['list_url'], crawl)}, {crawl['list_links']}, request {crawl['list_at']}"


def _short(url: str, crawl: Mapping[str, Any]) -> str:
    """A URL as code, without what is the same for all of its task."""
    address = url.partition("://")[2]
    return f"`{address if crawl['hosts'] > 1 else address[address.index('/') :]}`"


def against(rows: Cells, budgets: Sequence[int], least: int = LEAST_PAIRS) -> Iterator[list[str]]:
    """Spoor against each rival at each budget, where both crawled `least` tasks."""
    ours = own(rows)
    comparisons: list[Comparison] = []
    at = []
    for budget in budgets:
        table = recalls(rows, budget)
        for name, them in table.items():
            both = [task for task in table.get(ours, {}) if task in them]
            if name != ours and len(both) >= least:
                pairs = [(table[ours][task], them[task]) for task in both]
                comparisons.append(paired(ours, name, pairs))
                at.append(f"{budget:,}")
    for budget_name, comparison in zip(at, corrected(comparisons), strict=True):
        yield [budget_name, *line(comparison)[1:]]


def means(rows: Cells) -> Grid:
    """Means over the tasks, of the first tries with the least budget; recall of all tries."""
    lines = []
    tables = {budget: recalls(rows, budget) for budget in MAIN}
    for (name,), mine in grouped(rows, "contender").items():
        budget = min(row["budget"] for row in mine)
        least = [row for row in mine if row["budget"] == budget and not row["seed"]]
        lines.append(
            [
                name,
                str(len({row["task"] for row in mine})),
                *(
                    number(mean(table[name].values()) if name in table else None)
                    for table in tables.values()
                ),
                _median_to_half(least),
                _mean(least, "precision"),
                _mean(least, "said_recall"),
                _per_relevant(least),
                *(f"{mean(row[name] for row in least):.1f}" for name in BESIDE),
            ]
        )
    head = (
        *("rival", "tasks", *(f"recall at {budget:,}" for budget in MAIN)),
        *("requests to half, median", "told: precision", "told: recall"),
        *("requests a right page", "failures", "robots.txt", "sitemaps", "redirects"),
    )
    return Grid(head, lines)


def _median_to_half(rows: Cells) -> str:
    """The median of the requests to half of the pages; never reached counts as infinite."""
    to_half = [row["requests_to_half"] for row in rows]
    values = [float("inf") if requests is None else requests for requests in to_half]
    middle = median(values)
    return "not reached" if middle == float("inf") else f"{middle:.0f}"


def _mean(rows: Cells, key: str) -> str:
    """The mean of those that say something of pages; where no page is said to be relevant, 0."""
    values = [row[key] or 0.0 for row in rows if row["told"] is not None]
    return number(mean(values) if values else None)


def _per_relevant(rows: Cells) -> str:
    found = sum(row["found"] for row in rows)
    return f"{sum(row['pages'] for row in rows) / found:.1f}" if found else "–"


def at_budgets(rows: Cells, budgets: Sequence[int], word: str = "recall at") -> Grid:
    """Mean recall at budgets, of each rival."""
    tables = {budget: recalls(rows, budget) for budget in budgets}
    lines = []
    for (name,), mine in grouped(rows, "contender").items():
        means_ = [
            number(mean(table[name].values()) if name in table else None)
            for table in tables.values()
        ]
        lines.append([name, str(len({row["task"] for row in mine})), *means_])
    return Grid(("rival", "tasks", *(f"{word} {budget:,}" for budget in budgets)), lines)


def beside(rows: Cells) -> Grid:
    """What the probes showed."""
    lines = []
    for row in rows:
        it = probe.Probe(**row["probe"])
        killed = it.before is not None
        lines.append(
            [
                row["contender"],
                "yes" if it.asked_robots else "no",
                str(it.forbidden),
                f"{it.again} of {it.before}" if killed else "it had ended",
                f"{it.fetched} of {probe.PAGES}",
                *(f"{share:.0%}" if share else "–" for share in (it.scores, it.reasons)),
                f"{it.markdown:.0%}" if it.markdown else "–",
            ]
        )
    head = (
        *("rival", "asked for robots.txt", "forbidden pages asked for"),
        *("after the kill: asked again", "pages in the end", "score", "reasons", "Markdown"),
    )
    return Grid(head, lines)


def cost(rows: Cells) -> Grid:
    """Medians of what a crawl cost, by budget."""
    lines = []
    for (name, budget), mine in grouped(rows, "contender", "budget").items():
        ended = grouped(mine, "ended")
        lines.append(
            [
                name,
                str(budget),
                f"{median(row['pages'] for row in mine):.0f}",
                f"{median(row['cpu_seconds'] for row in mine):.1f}",
                f"{median(row['peak_mb'] for row in mine):.0f}",
                f"{median(row['bytes'] for row in mine) / 1e6:.1f}",
                ", ".join(f"{len(them)} {how}" for (how,), them in ended.items()),
                _mean_markdown(mine),
            ]
        )
    head = (
        "rival",
        "budget",
        "requests",
        "CPU s",
        "peak MB",
        "MB sent",
        "how it ended",
        "Markdown",
    )
    return Grid(head, lines)


def _mean_markdown(rows: Cells) -> str:
    values = [row["markdown"] for row in rows if row["markdown"] is not None]
    return f"{mean(values):.0%} of its pages" if values else "–"


def tries(rows: Cells) -> Grid:
    """Recall of crawls that were made more than once: the median, the least and the most."""
    lines = []
    for (name, task, pages), mine in grouped(rows, "contender", "task", "budget").items():
        if len(mine) > 1:
            shares = [[row["recall"][str(at)] for row in mine] for at in MAIN if at <= pages]
            cells = [
                f"{number(median(them), 2)} ({number(min(them), 2)} … {number(max(them), 2)})"
                for them in shares
            ]
            cells += ["–"] * (len(MAIN) - len(cells))
            lines.append([name, task, str(len(mine)), *cells])
    return Grid(("rival", "task", "tries", *(f"recall at {at:,}" for at in MAIN)), lines, names=2)


def by_task(rows: Cells) -> Grid:
    """Recall of each rival at 100 and at 300 (of one right page: at 30 and 100)."""
    names = list(dict.fromkeys(row["contender"] for row in rows))
    lines = []
    for (task,), mine in grouped(rows, "task").items():
        budgets = (30, 100) if mine[0]["kind"] == "gold" else (100, 300)
        tables = [recalls(mine, budget) for budget in budgets]
        shares: Sequence[str] = [
            " · ".join(number(table.get(name, {}).get(task), 2) for table in tables)
            for name in names
        ]
        lines.append([task, mine[0]["kind"], str(mine[0]["targets"]), *shares])
    return Grid(("task", "kind", "right pages", *names), lines, names=2)
