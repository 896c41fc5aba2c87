"""Text from outside, made safe for a terminal, a log or a report."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape

from spoor.durations import DAY, HOUR
from spoor.legible import is_needed

_SECRET = re.compile(
    # That a `=` follows is looked at first, so that no name is gone through twice for nothing.
    r"""((?:^|[?&;\s])(?=[\w.%[\]-]*+=)(?:[\w.%[\]-]*
    (?:token|secret|passw(?:or)?d|passphrase|pwd|api-?key|signature|credential|jwt|auth|session)[\w.%[\]-]*|(?:[\w.%[\]-]*[_.-])?(?:key|sig|sid|pass|pin|otp))=)
    [^&;\s"'<>\#]+""",
    re.IGNORECASE | re.VERBOSE,
)
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")


def masked(text: str) -> str:
    """A text without the secrets of the URLs in it: passwords, and values of parameters with names
    such as `token` or `key`. For logs, screens and reports; such a URL is never fetched."""
    if "=" in text:
        text = _SECRET.sub(r"\1***", text)
    return _USERINFO.sub("***@", text) if "@" in text else text


def printable(text: str) -> str:
    """A text without control characters, escape sequences and marks of the writing direction;
    blanks of any kind are spaces, and joiners stay where Arabic, Indic and emoji need them. Text
    from outside goes to terminals, logs and reports only in this form."""
    if text.isprintable():
        return text
    text = _BLANK.sub(" ", text)
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or (char in _JOINERS and is_needed(char, text, at)) else "�"
        for at, char in enumerate(text)
    )


_BLANK = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_JOINERS = "\u200c\u200d"


_STEERS = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def quiet_json(line: str) -> str:
    """The same JSON with control characters and marks of the writing direction escaped, where JSON
    allows them unescaped: some 8-bit control characters are escape sequences to a terminal."""
    return _STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", line)


def shown(text: str) -> str:
    """Any text as a person may see it: `printable` and `masked`, in one line."""
    return printable(masked(" ".join(text.split())))


def indented(line: str) -> str:
    """The same of a line that our own blanks begin, which stay."""
    text = line.lstrip(" ")
    return " " * (len(line) - len(text)) + shown(text)


def to_the_minute(seconds: float) -> str:
    """A moment, Unix seconds, as `2026-01-31 09:30` (UTC)."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def few(names: Sequence[str], most: int = 3) -> str:
    """The first of many names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def command_line(*words: object) -> str:
    """A command of Spoor, quoted so that a user can paste it into a shell: a URL of a stranger may
    have `$(…)`, `;` and `&`."""
    return shlex.join(["spoor", *map(str, words)])


def in_time(seconds: float) -> str:
    """A span of time in the unit that leaves one to three digits: `40 s`, `17 minutes`."""
    for unit, length in (("days", DAY), ("hours", HOUR), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:,.0f} s"


def pace_in_words(hosts: Iterable[tuple[str, int, float]], open_links: int) -> str:
    """A sentence about the host that sets the pace of a crawl: it has a delay and half or more of
    the open links. Empty if there is none. `hosts`: (name, open links, delay in seconds)."""
    links, delay, name = max(
        ((links, delay, name) for name, links, delay in hosts), default=(0, 0.0, "")
    )
    if not delay or 2 * links < open_links:
        return ""
    many = f"{links:,} of {open_links:,} open links"
    return f"{shown(name)} sets the pace: {many}, one request in {delay:g} s"


def html_link(url: str, text: str = "") -> str:
    """A link as HTML, everything escaped; the text alone if the URL is not http or https."""
    words = escape(shown(text or url))
    if not url.startswith(("http://", "https://")):
        return words
    return f'<a href="{escape(url)}" rel="noopener noreferrer" target="_blank">{words}</a>'


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as HTML. `head` is escaped here; the cells of `rows` are HTML already."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    above = f"<thead><tr>{titles}</tr></thead>" if head else ""
    return f"<table>{above}<tbody>{lines}</tbody></table>"


def html_reasons(why: Iterable[Sequence[object]]) -> str:
    """The first three (reason, share) rows as HTML."""
    shares = [f"{escape(shown(str(name)))} {share:+.2g}" for name, share in list(why)[:3]]
    return "<br>".join(shares)
