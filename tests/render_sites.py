"""Sites of twelve kinds for `benchmarks/render.py` and the tests: what their plain HTML lacks, and what their scripts bring.

The frameworks are the files that npm ships (`npm pack`); the real sites are folders of HTML. Every
generated site has articles of which each second names the topic; they differ in how one gets there.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random

Site = dict[str, tuple[str, bytes]]
"""Path → media type and body."""

FRAMEWORKS = {
    "vue@3": "dist/vue.global.prod.js",
    "react@18": "umd/react.production.min.js",
    "react-dom@18": "umd/react-dom.production.min.js",
    "preact@10": "dist/preact.umd.js",
    "docsify@4": "lib/docsify.min.js",
}

COUNTS = {
    "plain": 36,
    "analytics": 36,
    "real": 40,
    "hydrated": 25,
    "noscript": 15,
    "widget": 10,
    "list": 14,
    "lazy": 6,
    "routed": 6,
    "docsify": 4,
    "buttons": 4,
    "cards": 4,
}
"""Kind → how many of 200 sites."""

PAGES = 10
WORD = "stoneware"
"""In the text of each second article, and in no list."""


def frameworks(folder: Path) -> dict[str, bytes]:
    """Name → its script, fetched with npm where it is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, member in FRAMEWORKS.items():
        package, _, version = name.partition("@")
        known = sorted(folder.glob(f"{package}-{version}.*.tgz"))
        if not known:
            subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True)
            known = sorted(folder.glob(f"{package}-{version}.*.tgz"))
        with tarfile.open(known[-1]) as archive:
            file = archive.extractfile(f"package/{member}")
            assert file is not None
            found[package] = file.read()
    return found


def sites(
    counts: Mapping[str, int],
    scripts: Mapping[str, bytes],
    real: Iterable[Path] = (),
    seed: int = 0,
) -> dict[str, Site]:
    """Host → site, with all kinds mixed. A real one is `PAGES` HTML files of a folder."""
    rng = Random(seed)
    shares = _real_sites(list(real), counts.get("real", 0))
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    rng.shuffle(kinds)
    made = {}
    for number, kind in enumerate(kinds):
        host = f"{kind}-{number}.test"
        if kind == "real":
            made[host] = next(shares)
        else:
            made[host] = _Maker(Random(f"{seed} {host}"), scripts).site(kind, number)
    return made


def _real_sites(folders: list[Path], count: int) -> Iterator[Site]:
    files = [
        (folder, chunk)
        for folder in folders
        for all_files in [sorted(folder.rglob("*.html"))]
        for chunk in (all_files[at : at + PAGES] for at in range(0, len(all_files), PAGES))
    ]
    step = max(1, len(files) // max(1, count))
    for folder, chunk in files[::step][:count]:
        paths = [f"/{file.relative_to(folder).as_posix()}" for file in chunk]
        index = "".join(f'<p><a href="{path}">{path}</a></p>' for path in paths)
        yield {
            "/": html(f"<h1>Index</h1>{index}"),
            **{path: html(file.read_bytes()) for path, file in zip(paths, chunk, strict=True)},
        }


def _title(text: str) -> str:
    return text[:22]


def html(body: str | bytes) -> tuple[str, bytes]:
    return "text/html; charset=utf-8", body if isinstance(body, bytes) else body.encode()


def script(body: str | bytes) -> tuple[str, bytes]:
    return "text/javascript", body if isinstance(body, bytes) else body.encode()


class _Maker:
    def __init__(self, rng: Random, scripts: Mapping[str, bytes]) -> None:
        self._rng, self._scripts = rng, scripts

    def words(self, count: int) -> str:
        return " ".join("".join(self._rng.choices("aeiounrstlm", k=6)) for _ in range(count))

    def texts(self) -> list[tuple[str, str]]:
        """(path, text) of the articles; each second one is a target."""
        topic = ("The kiln and its glaze: stoneware", "Of the boats and their keels: wood")
        return [(f"/article/{at}", f"{topic[at % 2]} {self.words(250)}") for at in range(PAGES - 1)]

    def site(self, kind: str, number: int) -> Site:
        articles = self.texts()
        return getattr(self, f"_{kind}")(articles, number)  # type: ignore[no-any-return]

    def _served(self, articles: list[tuple[str, str]], more: str = "", root: str = "") -> Site:
        """Everything is in the HTML."""
        links = "".join(f'<li><a href="{path}">{_title(text)}</a></li>' for path, text in articles)
        frame = "<title>{}</title><div{}>{}</div>{}"
        site = {"/": html(frame.format("Home", root, f"<ul>{links}</ul>{self.words(60)}", more))}
        for path, text in articles:
            body = f"<h1>{_title(text)}</h1><p>{text}</p><nav><ul>{links}</ul></nav>"
            site[path] = html(frame.format(_title(text), root, body, more))
        return site

    def _plain(self, articles: list[tuple[str, str]], number: int) -> Site:
        return self._served(articles)

    def _analytics(self, articles: list[tuple[str, str]], number: int) -> Site:
        more = "<script src='https://stats.test/a.js' async></script><script>var q = [];</script>"
        return self._served(articles, more)

    def _hydrated(self, articles: list[tuple[str, str]], number: int) -> Site:
        """The server rendered what Vue or Preact then takes over."""
        more = "<script src=/vue.js></script><script>Vue.createApp({}).mount('#app')</script>"
        site = self._served(articles, more, ' id="app"')
        site["/vue.js"] = script(self._scripts["vue"])
        return site

    def _noscript(self, articles: list[tuple[str, str]], number: int) -> Site:
        more = (
            "<noscript>Please enable JavaScript to see the comments.</noscript>"
            "<script src=/menu.js></script>"
        )
        site = self._served(articles, more)
        site["/menu.js"] = script("document.body.classList.add('js')")
        return site

    def _widget(self, articles: list[tuple[str, str]], number: int) -> Site:
        """A box of links that are in the HTML as well, and a banner on every page."""
        more = '<div class="related-items"></div><script src=/widget.js></script>'
        site = self._served(articles, more)
        site["/widget.js"] = script(
            "document.querySelector('.related-items').innerHTML ="
            f"'<a href=\"/article/1\">more</a><p>{self.words(40)}</p>'"
        )
        return site

    def _list(self, articles: list[tuple[str, str]], number: int) -> Site:
        """The list comes as data and is made by a framework; the articles are plain pages."""
        site = self._served(articles)
        for path, text in articles:
            site[path] = html(f"<title>{_title(text)}</title><h1>{_title(text)}</h1><p>{text}</p>")
        rows = [{"url": path, "title": _title(text)} for path, text in articles]
        site["/api/articles.json"] = ("application/json", json.dumps(rows).encode())
        load = "fetch('/api/articles.json').then(reply => reply.json()).then(rows => {"
        name = ("vue", "react", "preact")[number % 3]
        if name == "vue":
            root = "<div id=app></div>"
            code = load + (
                "Vue.createApp({setup: () => () => rows.map(row => Vue.h('p', Vue.h('a', "
                "{href: row.url}, row.title)))}).mount('#app')})"
            )
        elif name == "react":
            root = f"<h1>Shop</h1><p>{self.words(80)}</p><div id='root'></div>"
            code = load + (
                "ReactDOM.createRoot(root).render(rows.map(row => React.createElement('a', "
                "{href: row.url, key: row.url}, row.title)))})"
            )
        else:
            root = f"<h1>News</h1><p>{self.words(260)}</p><ul id=list></ul>"
            code = load + (
                "preact.render(rows.map(row => preact.h('li', null, preact.h('a', "
                "{href: row.url}, row.title))), list)})"
            )
        files = [name, "react-dom"] if name == "react" else [name]
        tags = "".join(f"<script src=/{file}.js></script>" for file in files)
        site |= {f"/{file}.js": script(self._scripts[file]) for file in files}
        site["/"] = html(f"<title>Home</title>{root}{tags}<script>{code}</script>")
        return site

    def _lazy(self, articles: list[tuple[str, str]], number: int) -> Site:
        """The list goes on as it is scrolled; three links are in the HTML."""
        site = self._list(articles, 0)
        first = "".join(
            f'<p><a href="{path}">{_title(text)}</a></p>' for path, text in articles[:3]
        )
        code = """
          let at = 3, rows = [];
          const more = () => { for (const row of rows.slice(at, at += 2)) {
            const link = document.createElement('a'); link.href = row.url;
            link.textContent = row.title; link.style = 'display:block;height:1500px';
            list.append(link); } };
          fetch('/api/articles.json').then(reply => reply.json()).then(all => { rows = all;
            new IntersectionObserver(seen => seen[0].isIntersecting && more()).observe(end); more();
            addEventListener('scroll', more); });"""
        body = f"<div id=list class=feed>{first}</div><div id=end class=load-more>Loading…</div>"
        site["/"] = html(f"<title>Feed</title><h1>Feed</h1>{body}<script>{code}</script>")
        return site

    def _buttons(self, articles: list[tuple[str, str]], number: int) -> Site:
        """Three links are in the HTML; a button puts three more beside them, or, on each second
        site, in their place."""
        site = self._list(articles, 0)
        first = "".join(
            f'<li><a href="{path}">{_title(text)}</a></li>' for path, text in articles[:3]
        )
        place = "append" if number % 2 else "replaceChildren"
        code = f"""
          const ul = document.querySelector('ul'), button = document.querySelector('main > button');
          let at = 3;
          button.onclick = async () => {{
            const rows = await (await fetch('/api/articles.json')).json();
            ul.{place}(...rows.slice(at, at += 3).map(row => {{
              const item = document.createElement('li'), link = document.createElement('a');
              link.href = row.url; link.textContent = row.title; item.append(link);
              return item; }}));
            button.disabled = at >= rows.length; }};"""
        body = f"<main><ul>{first}</ul><button>Weitere</button></main><button>Theme</button>"
        site["/"] = html(f"<title>News</title><h1>News</h1>{body}<script>{code}</script>")
        return site

    def _cards(self, articles: list[tuple[str, str]], number: int) -> Site:
        """An application whose list has no links. A click on an item makes another address; on each
        second site it opens a window, and the list comes in pages of three."""
        site = self._routed(articles, 0)
        code = """
          const app = document.querySelector('#app'), size = SIZE;
          let from = 0;
          const show = async () => {
            const path = location.pathname, at = path === '/' ? '/articles' : path;
            const data = await (await fetch(`/api${at}.json`)).json();
            app.innerHTML = Array.isArray(data)
              ? data.slice(from, from + size).map(row =>
                `<div class=card><h3>${row.title}</h3><b>${row.url.slice(-1)}</b></div>`).join('')
                + (data.length > from + size ? '<button>›</button>' : '')
              : `<h1>${data.text.slice(0, 22)}</h1><p>${data.text}</p>`;
            app.querySelectorAll('.card').forEach((card, k) => card.addEventListener('click', () => {
              const {url} = data[from + k];
              if (size < 99) return open(url);
              history.pushState({}, '', url); show(); }));
            const next = app.querySelector('button');
            if (next) next.onclick = () => { from += size; show(); };
          };
          addEventListener('popstate', show);
          show();""".replace("SIZE", "3" if number % 2 else "99")
        shell = html(f"<title>App</title><div id=app></div><script>{code}</script>")
        return {
            path: shell if media.startswith("text/html") else (media, body)
            for path, (media, body) in site.items()
        }

    def _routed(self, articles: list[tuple[str, str]], number: int) -> Site:
        """One shell for every address; a router makes the page of the path, from data."""
        site: Site = {"/vue.js": script(self._scripts["vue"])}
        for path, text in articles:
            site[f"/api{path}.json"] = ("application/json", json.dumps({"text": text}).encode())
        rows = [{"url": path, "title": _title(text)} for path, text in articles]
        site["/api/articles.json"] = ("application/json", json.dumps(rows).encode())
        code = """
          const path = location.pathname, at = path === '/' ? '/articles' : path;
          fetch(`/api${at}.json`).then(reply => reply.json()).then(data => Vue.createApp({
            setup: () => () => Array.isArray(data)
              ? data.map(row => Vue.h('a', {href: row.url}, row.title))
              : [Vue.h('h1', null, data.text.slice(0, 22)), Vue.h('p', null, data.text)]
          }).mount('#app'));"""
        shell = html(
            "<title>App</title><noscript>You need to enable JavaScript to run this app.</noscript>"
            f"<div id=app></div><script src=/vue.js></script><script>{code}</script>"
        )
        return site | dict.fromkeys(("/", *(path for path, _ in articles)), shell)

    def _hashed(self, articles: list[tuple[str, str]], number: int) -> Site:
        """As `_routed`, but the router goes by what stands behind `#`, and pages have sections."""
        site = self._routed(articles, number)
        media, shell = site["/"]
        code = shell.replace(b"location.pathname", b"location.hash.slice(1) || '/'")
        code = code.replace(b"{href: row.url}", b"{href: '#' + row.url}")
        code = code.replace(b"[Vue.h('h1', null", b"[Vue.h('h1', {id: 'top'}")
        code = code.replace(
            b"data.text)]", b"data.text), Vue.h('a', {href: `#${path}?id=top`}, 'up')]"
        )
        return {name: one for name, one in site.items() if not name.startswith("/article")} | {
            "/": (media, code)
        }

    def _docsify(self, articles: list[tuple[str, str]], number: int) -> Site:
        """Docsify with addresses of its own, or, each second one, behind `#`."""
        history = number % 2 == 0
        links = "\n".join(
            f"- [{_title(text)}](guide{at}.md)" for at, (_, text) in enumerate(articles)
        )
        settings = "routerMode: 'history', " if history else ""
        shell = html(
            "<title>Guide</title><div id=app></div><script>window.$docsify = "
            f"{{{settings}loadSidebar: false}}</script><script src=/docsify.js></script>"
        )
        site: Site = {
            "/": shell,
            "/docsify.js": script(self._scripts["docsify"]),
            "/README.md": ("text/markdown", f"# Guide\n\n{links}\n".encode()),
        }
        for at, (_, text) in enumerate(articles):
            site[f"/guide{at}.md"] = ("text/markdown", f"# {_title(text)}\n\n{text}\n".encode())
            site[f"/guide{at}"] = shell
        return site
