"""Articles as news sites show them, with noise of eight kinds: what tests and benchmarks of watching
share. Everything follows from seeds."""

from __future__ import annotations

from html import escape
from random import Random

KINDS = (
    "dates",
    "counters",
    "sidebar",
    "teasers",
    "sessions",
    "comments",
    "advertisements",
    "navigation",
)

_NOUNS = "council river kiln market bridge school harbour museum orchard station theatre library"
_VERBS = "opened closed reviewed painted repaired bought sold praised questioned measured"
_ENDS = "before the winter began|after a long debate|without a single complaint|for the third time"


def sentence(random: Random) -> str:
    """One that says something, mostly another at each call."""
    noun, other = random.sample(_NOUNS.split(), 2)
    verb, end = random.choice(_VERBS.split()), random.choice(_ENDS.split("|"))
    name = "".join(random.choice("bdfgklmnprst") + random.choice("aeiou") for _ in range(3))
    return f"The {noun} of {name.title()} {verb} the old {other} {end}."


def article(seed: int, sentences: int = 12) -> list[str]:
    """The sentences of an article."""
    random = Random(seed)
    return [sentence(random) for _ in range(sentences)]


_STORIES = [article(9_000 + number, 1)[0].rstrip(".") for number in range(40)]


def page(
    title: str,
    text: list[str],
    visit: int,
    kinds: tuple[str, ...] = KINDS,
    links: list[str] | None = None,
) -> bytes:
    """The page at one visit, with the noise of these kinds."""
    random = Random(f"{title} {visit}")

    def noisy(kind: str) -> bool:
        return kind in kinds

    stories = [*_STORIES]
    if noisy("teasers"):
        random.shuffle(stories)
    session = f"?sid={random.getrandbits(64):016x}" if noisy("sessions") else ""
    teasers = "".join(
        f'<li><a href="/story/{abs(hash_of(one))}.html{session}">{one}</a></li>'
        for one in stories[:6]
    )
    when = f"{1 + visit % 28} November 2026, {visit % 24:02}:15" if noisy("dates") else ""
    ago = f"<p>Updated {1 + visit % 50} minutes ago</p>" if noisy("dates") else ""
    counter = (
        f"<p>{random.randrange(9_999)} views · {visit} shares</p>" if noisy("counters") else ""
    )
    side = f"<p>Weather: {sentence(random)}</p>" if noisy("sidebar") else ""
    advert = sentence(random) if noisy("advertisements") else "Nothing on offer here."
    menu = random.sample(_NOUNS.split(), 6) if noisy("navigation") else _NOUNS.split()[:6]
    nav = "".join(f'<li><a href="/{one}/">{one.title()}</a></li>' for one in menu)
    said = [sentence(random) for _ in range(1 + visit % 4)] if noisy("comments") else []
    comments = "".join(f'<div class="comment"><p>{one}</p></div>' for one in said)
    own = "".join(f'<li><a href="{url}">{url}</a></li>' for url in links or ())
    body = "".join(f"<p>{escape(one)}</p>" for one in text)
    return f"""<!doctype html><html><head><title>{escape(title)}</title></head><body>
<header><nav><ul>{nav}</ul></nav><span class="clock">{when}</span></header>
<main><article><h1>{escape(title)}</h1>{ago}{body}{counter}</article>
<ul>{own}</ul>
<section class="comments" id="comments"><h2>Comments</h2>{comments}</section></main>
<aside class="sidebar"><h2>Most read</h2><ul>{teasers}</ul>{side}</aside>
<div class="ad advertisement"><p>{advert}</p></div>
<footer><p>Session {session[5:]} · {when}</p></footer></body></html>""".encode()


def hash_of(text: str) -> int:
    """The same in every process."""
    return int.from_bytes(text.encode()[:6], "big")
