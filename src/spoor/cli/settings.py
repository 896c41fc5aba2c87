"""`spoor settings`: every setting, as the page of the reference has them."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from spoor.runs import files
from spoor.setting import GROUPS, Setting
from spoor.settings import Settings, described

HEAD = f"""# Settings

Made by `spoor settings` from `spoor.settings.Settings`, where each setting is written once. All
are options of `spoor crawl` or `spoor watch`, keywords of `spoor.run`, and entries of a run's
`{files.SETTINGS}`, in the table that a heading names. Those with a Scrapy name are \
[settings of a Scrapy
project](../guides/scrapy.md) too. What is unknown, of another type or out of range is refused in
one line.
"""


def add(app: typer.Typer) -> None:
    app.command()(settings)


def settings(
    keywords: Annotated[
        bool,
        typer.Option(hidden=True, help="The module src/spoor/notebook/functions.py instead."),
    ] = False,
) -> None:
    """List every setting with its option, range and default, as Markdown."""
    typer.echo(python(Settings) if keywords else markdown(Settings), nl=False)


_KEYWORDS = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    tuple: "str | Sequence[str]",
    dict: "Mapping[str, Any]",
}

_MODULE = '''"""`spoor.run` and `spoor.stream`, with every setting of a crawl as a keyword.

Made by `spoor settings --keywords` from `spoor.settings.Settings`, so that editors and `help` show
the types and defaults.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Never

from spoor.notebook.crawl_run import CrawlRun
from spoor.notebook.crawls import OnPage, begin, settings_of, stream_crawl
from spoor.runs import files
from spoor.runs.documents import RunDocument

_OWN = {"seeds", "out", "on_page", "progress", "wait", "everything", "unknown"}


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among the keywords of a call, and what is unknown, which is refused later."""
    known = {name: value for name, value in given.items() if name not in _OWN}
    return {**known, **given["unknown"]}


def run(
    seeds: str | Sequence[str],
    topic: str | PathLike[str] = "",
    *,
    out: str | Path | None = None,
    on_page: OnPage | None = None,
    progress: bool | None = None,
    wait: bool = True,
%(keywords)s
    **unknown: Never,
) -> CrawlRun:
    """Crawl live, as `spoor crawl` does; the same call on the same folder goes on.

    `seeds`: a URL, several, or a file of URLs. `out`: the folder of the run; None for a new one
    under `runs`. `on_page` is called with each fetched document, in the thread of the caller (with
    `wait=False`, in the crawl's own); where it raises, the crawl stops and the error is raised.
    `progress`: a bar; None for one in a notebook only. With `wait=False` it returns at once, and
    the run has `cancel` and `wait`. An interrupt stops the crawl, and returns its run as it is.

    Works in a notebook, whose event loop runs already, in a thread, and in a script without a main
    guard. Raises InputError with the line that the command line prints, also where no page came.

%(helps)s
    """
    settings = settings_of(seeds, _settings(locals()))
    path = files.new_run() if out is None else Path(out)
    return CrawlRun(path, begin(path, settings, on_page=on_page, progress=progress, wait=wait))


def stream(
    seeds: str | Sequence[str],
    topic: str | PathLike[str] = "",
    *,
    out: str | Path | None = None,
    everything: bool = False,
    on_page: OnPage | None = None,
%(keywords)s
    **unknown: Never,
) -> AsyncIterator[RunDocument]:
    """The relevant documents of a crawl, or `everything`, as they are found:
    `async for document in spoor.stream(…)`. Each is judged as it comes; what the judge says of it
    later, when it knows more, is in the run (`spoor.open`). Where the loop is left, the crawl is
    cancelled, at the latest when the iterator is closed; the same call on the same folder goes on.

    The keywords are those of `run`.
    """
    given = _settings(locals())
    return stream_crawl(seeds, given, out=out, everything=everything, on_page=on_page)
'''


def python(known: type[Settings]) -> str:
    """The module of `run` and `stream`."""
    own = [
        one for name, one in known.of_command("crawl").items() if not one.inner and name != "topic"
    ]
    keywords = map(_keyword, own)
    helps = [f"    `{one.name}`: {one.help}" for one in own]
    wrapped = [
        "\n".join(textwrap.wrap(line.strip(), 100, initial_indent="    ", subsequent_indent="    "))
        for line in helps
    ]
    parts = {"keywords": "\n".join(keywords).replace("'", '"'), "helps": "\n\n".join(wrapped)}
    return _MODULE % parts


def _keyword(one: Setting) -> str:
    """The keyword of a setting, formatted as the rest of the code is."""
    hint = _KEYWORDS[one.kind]
    if one.choices and not one.plugins:
        hint = f"Literal[{', '.join(map(repr, one.choices))}]"
    hint += " | PathLike[str]" if one.path else ""
    hint += " | None" if one.default is None or one.none is not None else ""
    line = f"    {one.name}: {hint} = {one.default!r},"
    if len(line) > 100 and isinstance(one.default, tuple):
        items = "".join(f"        {item!r},\n" for item in one.default)
        line = f"    {one.name}: {hint} = (\n{items}    ),"
    return line


def markdown(known: type[Settings]) -> str:
    """The page of the reference."""
    lines = [HEAD]
    for group in GROUPS:
        lines += [f"## {group.name}", "", group.help, ""]
        lines += [
            "| setting | is | values | default | option | of | Scrapy |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        own = [one for one in described(known).values() if one.group is group and not one.inner]
        lines += [_row(one) for one in own]
        lines.append("")
    return "\n".join(lines)


def _row(one: Setting) -> str:
    scrapy = ""
    if "scrapy" in one.commands:
        scrapy = f"`SPOOR_{one.name.upper()}`"
        if one.in_scrapy is not ...:
            scrapy += f" ({_value(one, one.in_scrapy)})"
    cells = [
        f"`{one.name}`",
        one.help,
        one.allowed if one.none is None else f"{one.allowed}; {one.none} in TOML: no limit",
        _value(one, one.default),
        f"`{one.flag}`" if {"crawl", "watch"} & {*one.commands} else "",
        ", ".join(name for name in one.commands if name != "scrapy"),
        scrapy,
    ]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _value(one: Setting, value: object) -> str:
    if value is None and one.none is not None:
        return "no limit"
    if one.time:
        return f"`{one.time}`"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(f"`{item}`" for item in value)
    return f"`{value}`" if value not in ("", None) else ""
