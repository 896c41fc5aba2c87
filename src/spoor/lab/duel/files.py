"""The files of the duel's sites by the keys of their URLs: which page links to which."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urljoin

from selectolax.lexbor import LexborHTMLParser

from spoor.lab.duel.dataset import Site, page_key

PAGE = re.compile(r"\.x?html?$", re.IGNORECASE)
LINKS = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}


@dataclass(frozen=True, slots=True)
class File:
    """What is served under a URL."""

    path: Path
    links: tuple[str, ...]
    """Keys of what it links to."""


class Files:
    """The files of sites (site → its folder), each read once for its links."""

    def __init__(self, folders: Mapping[Site, Path]) -> None:
        self._roots = {site.base: (site, folder.resolve()) for site, folder in folders.items()}
        self._read: dict[str, File | None] = {}
        self._keys: dict[str, str] = {}

    def file(self, url: str) -> File | None:
        """What is served under a URL; None for nothing."""
        if url not in self._read:
            self._read[url] = self._open(url)
        return self._read[url]

    def links(self, url: str) -> tuple[str, ...]:
        """Keys of what a URL's page links to; of what is not served, none."""
        file = self.file(url)
        return file.links if file else ()

    def site(self, url: str) -> Site:
        """The site of a URL that is served."""
        return next(site for base, (site, _) in self._roots.items() if url.startswith(base))

    def _open(self, url: str) -> File | None:
        for base, (_, root) in self._roots.items():
            if not url.startswith(base):
                continue
            path = (root / unquote(url[len(base) :].partition("?")[0])).resolve()
            if not path.is_relative_to(root):
                return None
            if path.is_dir() and (path / "index.html").is_file():
                path /= "index.html"
            if path.is_dir():  # the server lists it
                names = [f"{each.name}/" if each.is_dir() else each.name for each in path.iterdir()]
                return File(path, tuple(page_key(url + quote(name)) for name in sorted(names)))
            if path.is_file():
                return File(path, self._links(url, path) if PAGE.search(path.name) else ())
        return None

    def _links(self, url: str, path: Path) -> tuple[str, ...]:
        tree = LexborHTMLParser(path.read_text("utf-8", "replace"))
        base_node = tree.css_first("base[href]")
        base = urljoin(url, (base_node.attributes.get("href") or "") if base_node else "")
        found = {
            (node.attributes.get(LINKS[node.tag or "a"]) or "").partition("#")[0]
            for node in tree.css(", ".join(LINKS))
        }
        return tuple(filter(None, {self._key(base, link) for link in found if link}))

    def _key(self, base: str, link: str) -> str:
        try:
            url = urljoin(base, link)
            if url not in self._keys:
                self._keys[url] = page_key(url) if url.startswith(tuple(self._roots)) else ""
            return self._keys[url]
        except ValueError:
            return ""
