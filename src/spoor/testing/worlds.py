"""The laws of a world whose pages are all known, checked page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from spoor.errors import SpoorError
from spoor.judges.facts import Function
from spoor.protocols import KnownWorld
from spoor.types import Choice, Failed, Fetch, Fetched, Page, Reply
from spoor.web.urls import canonical

_FEW = 300
"""Pages that are looked at one by one."""
_MISSING = "http://no-such-host.example/no/such/page"


def check_world(factory: Callable[..., Any], *arguments: Any, **settings: Any) -> None:
    """Check a world, made as `factory(*arguments, **settings)`, against the laws of `KnownWorld`.

    Its pages have canonical URLs, each once; a fetch of one gives that page under the fetch's own
    ticket, each time and from each world that is made so; what is not there fails and raises
    nothing; roots are pages; the graph holds its pages in their order and the links among them, and
    as targets those that a judge calls relevant. Raises AssertionError with the law that it broke.
    Looks at the first 300 pages one by one.
    """
    name = getattr(factory, "__name__", repr(factory))

    def make() -> KnownWorld:
        world: KnownWorld = factory(*arguments, **settings)
        return world

    with _named(name):
        world = make()
        pages = list(world.pages())
        _check_pages(world, pages)
        _check_answers(world, make(), pages[:_FEW])
        _check_graph(world, pages)


@contextmanager
def _named(name: str) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from None
    except SpoorError as error:
        raise AssertionError(f"{name}: {error}") from error
    except Exception as error:
        raise AssertionError(f"{name} raised {type(error).__name__}: {error}") from error


def _demand(holds: bool, law: str) -> None:
    if not holds:
        raise AssertionError(law)


def _check_pages(world: KnownWorld, pages: list[Page]) -> None:
    urls = {page.url for page in pages}
    _demand(len(world) == len(pages), f"len() is {len(world)}, and pages() gives {len(pages)}")
    _demand(len(urls) == len(pages), "pages() gives two pages of one URL")
    for page in pages[:_FEW]:
        for url in (page.url, *(link.url for link in page.links)):
            _demand(canonical(url) == url, f"{url!r} is not canonical; {canonical(url)!r} is")
    roots = list(world.roots())
    _demand(bool(roots), "roots() names no page where a crawl may begin")
    for root in roots:
        _demand(world.page(root).url in urls, f"the root {root} is none of its pages")
    sites = {site: count for site, count in world.sites().items() if site}
    counts = dict(Counter(page.site for page in pages if page.site))
    _demand(sites == counts, f"sites() is {sites}, and its pages have {counts}")


def _ask(world: KnownWorld, url: str, ticket: int) -> Reply:
    return world.answer(Fetch(ticket, url, "", Choice(ticket)))


def _check_answers(world: KnownWorld, other: KnownWorld, pages: list[Page]) -> None:
    for ticket, page in enumerate(pages):
        reply = _ask(world, page.url, ticket)
        _demand(isinstance(reply, Fetched), f"a fetch of its page {page.url} gives {reply!r}")
        assert isinstance(reply, Fetched)
        _demand(reply.ticket == ticket, f"the reply for {page.url} has another ticket")
        for what, again in (
            ("page()", world.page(page.url)),
            ("a fetch", reply.page),
            ("a second fetch", _fetched(world, page.url)),
            ("another world made so", _fetched(other, page.url)),
        ):
            same = _content(again) == _content(page)
            _demand(same, f"{what} gives another page of {page.url} than pages()")
    missing = _ask(world, _MISSING, 7)
    _demand(isinstance(missing, Failed), f"a fetch of what is not there gives {missing!r}")
    _demand(missing.ticket == 7, "the reply for what is not there has another ticket")


def _fetched(world: KnownWorld, url: str) -> Page:
    reply = _ask(world, url, 0)
    _demand(isinstance(reply, Fetched), f"a second fetch of {url} gives {reply!r}")
    assert isinstance(reply, Fetched)
    return reply.page


def _content(page: Page) -> tuple[object, ...]:
    return page.url, page.title, page.text, page.labels, page.site, list(page.links)


def _check_graph(world: KnownWorld, pages: list[Page]) -> None:
    urls = [page.url for page in pages]
    odd = set(urls[::2])
    graph = world.graph(Function(lambda page: page.url in odd))
    _demand(list(graph.urls) == urls, "the graph has other pages than pages(), or in another order")
    starts, ends = graph.indptr, graph.indices
    consistent = len(starts) == len(urls) + 1 and starts[0] == 0 and starts[-1] == len(ends)
    _demand(consistent, "the graph's indptr does not fit its pages and links")
    _demand(all(one <= two for one, two in pairwise(starts.tolist())), "indptr goes back")
    inside = not len(ends) or (int(np.min(ends)) >= 0 and int(np.max(ends)) < len(urls))
    _demand(inside, "the graph has a link to a page that it does not have")
    _demand(
        graph.targets.tolist() == [url in odd for url in urls],
        "the graph's targets are other pages than those that the judge calls relevant",
    )
    _demand(not world.graph().targets.any(), "the graph has targets where no judge is given")
    numbers = {url: number for number, url in enumerate(urls)}
    for number, page in enumerate(pages[:_FEW]):
        linked = {urls[end] for end in ends[starts[number] : starts[number + 1]].tolist()}
        plain = {link.url for link in page.links if link.url in numbers} - {page.url}
        # A link may also lead to a page by way of a redirect.
        missing = plain - linked
        _demand(not missing, f"the graph has no link from {page.url} to {min(missing, default='')}")
