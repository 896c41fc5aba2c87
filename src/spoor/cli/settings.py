"""`spoor settings`: every setting, as the page of the reference has them."""

from __future__ import annotations

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


def settings() -> None:
    """List every setting with its option, range and default, as Markdown."""
    typer.echo(markdown(Settings), nl=False)


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
