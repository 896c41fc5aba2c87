"""The description of a web: what `spoor web info` prints."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.durations import DAY
from spoor.errors import InputError
from spoor.worlds import graph
from spoor.worlds.evolving import FILE as EVOLVING
from spoor.worlds.evolving import EvolvingWorld
from spoor.worlds.generated import FILE as GENERATED
from spoor.worlds.generated import GeneratedWorld
from spoor.worlds.recorded import RecordedWorld

MOST_ROOTS = 100
"""Roots from which reach and depth are measured."""

WORK = 4e8
"""Most arcs that are followed to measure distances; a larger graph gets fewer sources."""


def describe_folder(
    folder: Path, *, site: str | None = None, seed: int = 0, sources: int | None = None
) -> dict[str, Any]:
    """The description of the web in a folder, recorded, generated or evolving, ready for JSON.

    `site` keeps the pages of that site alone (of a recorded web); `seed` and `sources` say from
    which pages distances are measured. Raises InputError where there is no web.
    """
    rng = np.random.default_rng(seed)
    if (folder / EVOLVING).exists():
        return {"web": str(folder), **describe_evolving(folder, rng, sources=sources)}
    if (folder / GENERATED).exists():
        description = describe_generated(GeneratedWorld.open(folder), rng, sources=sources)
        return {**description, "web": str(folder)}
    return describe(RecordedWorld(folder, site=site), rng, sources=sources)


def describe_evolving(
    folder: Path, rng: np.random.Generator, *, sources: int | None = None
) -> dict[str, Any]:
    """Times, counts, roots and graph measures of an evolving web, over all its versions."""
    world = EvolvingWorld.open(folder)
    return {
        "start": world.start,
        "end": world.end,
        "days": (world.end - world.start) / DAY,
        **world.counts(),
        "roots": world.roots(),
        "graph": measures(*world.arcs(), rng, sources=sources),
    }


def describe(
    world: RecordedWorld, rng: np.random.Generator, *, sources: int | None = None
) -> dict[str, Any]:
    """Counts, reach from each root within its site, and graph measures, ready for JSON.

    `sources` is how many pages distances are measured from (None: as many as the size of the graph
    allows). The measures that need the extra `graph` are left out without it, and `missing` says
    so.
    """
    indptr, indices = world.arcs()
    return {
        "web": str(world.path),
        **world.counts(),
        "labels": world.labels(),
        "sites": world.sites(),
        "roots": reach(world, indptr, indices),
        "graph": measures(indptr, indices, rng, sources=sources),
    }


def describe_generated(
    world: GeneratedWorld, rng: np.random.Generator, *, sources: int | None = None
) -> dict[str, Any]:
    """The same for a generated web. Raises InputError where it is too large to be enumerated."""
    web_graph = world.graph()
    root = world.roots()[0]
    depth = graph.depths(web_graph.indptr, web_graph.indices, web_graph.index()[root])
    pages = list(world.pages())
    labels = Counter(label for page in pages for label in page.labels)
    reached = Counter(
        label
        for page, level in zip(pages, depth.tolist(), strict=True)
        if level >= 0
        for label in page.labels
    )
    links = sum(len(page.links) for page in pages)
    return {
        "web": "generated",
        "pages": len(pages),
        "documents": 0,
        "redirects": 0,
        "failures": 0,
        "links": links,
        "resolved": 1.0,
        "absent": 0,
        "labels": dict(labels.most_common()),
        "sites": {},
        "roots": [
            {
                "root": root,
                "site": "",
                "pages": len(pages),
                "reached": int((depth >= 0).sum()),
                "depths": _counts(depth[depth >= 0]),
                "documents_reached": 0,
                "document_depths": [],
                "labels": dict(reached.most_common()),
            }
        ],
        "graph": measures(web_graph.indptr, web_graph.indices, rng, sources=sources),
    }


def reach(world: RecordedWorld, indptr: graph.Offsets, indices: graph.Arcs) -> list[dict[str, Any]]:
    """For each root: the pages that can be reached from it within its site, by depth, by label,
    and how many of them are documents without text."""
    urls = world.urls()
    number = {url: node for node, url in enumerate(urls)}
    sites, documents = world.page_sites(), world.documents()
    inner = graph.within(indptr, indices, sites)
    rows = []
    for root in world.roots()[:MOST_ROOTS]:
        node = number[root]
        depth = graph.depths(*inner, node)
        reached = depth >= 0
        rows.append(
            {
                "root": root,
                "site": world.page(root).site,
                "pages": int((sites == sites[node]).sum()),
                "reached": int(reached.sum()),
                "depths": _counts(depth[reached & ~documents]),
                "documents_reached": int((reached & documents).sum()),
                "document_depths": _counts(depth[reached & documents]),
                "labels": world.labels(reached),
            }
        )
    return rows


def _counts(depth: NDArray[np.int32]) -> list[int]:
    counts: list[int] = np.bincount(depth).tolist()
    return counts


def measures(
    indptr: graph.Offsets,
    indices: graph.Arcs,
    rng: np.random.Generator,
    *,
    sources: int | None = None,
) -> dict[str, Any]:
    """Measures of the entire graph; those of the extra `graph` only where it is installed."""
    pages, arcs = len(indptr) - 1, len(indices)
    outgoing, incoming = graph.degrees(indptr, indices)
    weak, strong = graph.components(indptr, indices)
    some = sources or int(np.clip(WORK / max(1, 8 * arcs), 16, graph.SOURCES))
    measured: dict[str, Any] = {
        "pages": pages,
        "arcs": arcs,
        "mean_degree": arcs / pages,
        "most_links_out": int(outgoing.max()),
        "most_links_in": int(incoming.max()),
        "reciprocity": graph.reciprocity(indptr, indices),
        "weak_component": weak,
        "strong_component": strong,
        "distances": asdict(graph.distances(indptr, indices, rng, sources=some)),
        "undirected_distances": asdict(
            graph.distances(*graph.undirected(indptr, indices), rng, sources=some)
        ),
    }
    try:
        laws = {"out": graph.power_law(outgoing), "in": graph.power_law(incoming)}
        measured["degrees"] = {
            way: None if law is None else asdict(law) for way, law in laws.items()
        }
        measured["clustering"] = graph.clustering(indptr, indices)
    except InputError as error:
        measured["missing"] = str(error)
    return measured
