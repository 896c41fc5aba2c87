"""Two sites that say nothing of one another: one about kilns, one about ledgers."""

from spoor.types import Anchor, Link, Page

KILNS = [f"http://kilns.example/{n}" for n in range(12)]
LEDGERS = [f"http://ledgers.example/{n}" for n in range(24)]


def honest() -> list[Page]:
    """Pages about kilns on one site, and about ledgers on another one, in turn."""
    pages = []
    for at, url in enumerate(LEDGERS):
        text = f"ledger {at} accounts balance debit credit sum{at} total{at % 5} " * 4
        links = [Link(LEDGERS[(at + step) % len(LEDGERS)], Anchor("next")) for step in (1, 2)]
        pages.append(Page(url, title=f"Ledger {at}", text=text, links=links))
        if at % 2 == 0:
            text = f"kiln glaze clay fire{at} firing stoneware shelf{at % 3} pottery " * 4
            links = [Link(KILNS[(at // 2 + step) % len(KILNS)], Anchor("next")) for step in (1, 2)]
            pages.append(Page(KILNS[at // 2], title="Kiln", text=text, links=links))
    return pages
