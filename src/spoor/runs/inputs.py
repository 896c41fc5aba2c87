"""What a run reads before it begins: where it begins, and fingerprints of the files it goes by.

Apart from the run itself, so that a command that is refused for them has imported nothing heavy.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from spoor.errors import InputError
from spoor.files import plain
from spoor.runs import files
from spoor.runs.site_lists import has_no_scheme, read_list, with_scheme
from spoor.settings import Settings
from spoor.web.urls import canonical

MOST_SEEDS = 200_000
"""Of a run: `spoor.toml`, which names them, is read by whoever looks at it."""

_AROUND = 8
"""Bytes around a URL there."""


def with_inputs(
    settings: Settings, seeds: Sequence[str], report: Callable[[str], object] | None = None
) -> Settings:
    """Settings with what they name read: the seeds, which are URLs or files of URLs, fingerprints
    of the topic's files, the model and the vectors, and the working folder that these are seen
    from; with those of an earlier run that is visited again. `report`, and InputError: as for
    `read_seeds`; InputError as `read_topic` raises it."""
    if settings.refresh:
        from spoor.runs.refreshed_run import as_begun

        settings = as_begun(settings)
    found = read_seeds([*settings.seeds, *seeds], routes=settings.render != "never", report=report)
    found.update(dict.fromkeys(found.keys() & settings.any_scheme, True))
    size = sum((len(url) + _AROUND) * (1 + any_scheme) for url, any_scheme in found.items())
    if len(found) > MOST_SEEDS or size > files.MOST_SETTINGS:
        raise InputError(
            f"{len(found):,} seeds of {size:,} bytes are more than a run has in {files.SETTINGS}: "
            f"{MOST_SEEDS:,} of {files.MOST_SETTINGS:,} bytes; give some of them to another run"
        )
    return replace(
        settings,
        seeds=tuple(found),
        any_scheme=tuple(url for url, any_scheme in found.items() if any_scheme),
        files={name: _fingerprint(Path(name)) for name in _files(settings)},
        folder=os.getcwd(),
    )


_PASSWORD = re.compile(r"\s*(?!mailto:)(?:https?:[/\\]*)?[^/\\?#:]*:[^/\\?#]+@", re.IGNORECASE)
"""A URL that has one, or what is one but for its scheme."""


def read_seeds(
    given: Sequence[str],
    *,
    routes: bool = False,
    report: Callable[[str], object] | None = None,
) -> dict[str, bool]:
    """Canonical URLs from arguments and files: one a line, or a column of a table (`.csv`); and
    whether each was given without a scheme, and never with one. `routes`: as for `canonical`.
    `report` is told in one line which lines of a file were left out since no URL stands there,
    where most others have one; without it, and where not, these are an InputError. Raises
    InputError naming file and lines."""
    urls = dict[str, bool]()
    for item in given:
        path = Path(item)
        lines: Iterable[tuple[str, int]] = [(item, 0)]
        if "://" not in item:
            if _is_file(path):
                lines = _lines_of(path)
            elif _PASSWORD.match(item):
                raise InputError(_HAS_PASSWORD.format("the seed"))
            elif not has_no_scheme(item):
                raise InputError(
                    f"seed {shortened(item)!r} is neither a URL (http://…) nor the name of a site "
                    "nor a file of URLs that exists"
                )
        wrong, why_first, right = list[int](), "", 0
        for line, number in lines:
            where = f"{path}, line {number}: " if number else ""
            has_password = _PASSWORD.match(line)
            try:
                url = canonical(with_scheme(line), routes=routes)
            except ValueError as error:
                if has_password:
                    raise InputError(where + _HAS_PASSWORD.format("the address")) from None
                why = error if len(line) <= _SHOWN else f"{shortened(line)!r} is no URL"
                why_first = why_first or f"{where}{why}"
                wrong.append(number)
                continue
            if has_password:
                raise InputError(where + _HAS_PASSWORD.format(f"the address {shortened(url)}"))
            urls[url] = has_no_scheme(line) and urls.get(url, True)
            right += 1
        if wrong:
            told = why_first + _more_lines(wrong[1:])
            if report is None or right <= len(wrong):
                raise InputError(told)
            report(f"left out: {told}")
    return urls


def _more_lines(numbers: Sequence[int]) -> str:
    """Which lines cannot be used either, so that all are mended at once."""
    if not numbers:
        return ""
    some = ", ".join(map(str, numbers[:_MOST_LINES]))
    rest = f" and {len(numbers) - _MOST_LINES:,} more" if len(numbers) > _MOST_LINES else ""
    return f"; nor can line{'s' if len(numbers) > 1 else ''} {some}{rest} be used"


_HAS_PASSWORD = "{} has a password before it; give that by --netrc or the variable SPOOR_BASIC"

_MOST_LINES = 20
"""Lines that cannot be used which a message names, beside the first."""

_SHOWN = 1_000
"""Characters of a line that a message quotes whole."""


def _lines_of(path: Path) -> Iterator[tuple[str, int]]:
    """(address, number) of each line of a seed file that has one."""
    told = False
    for address, number in read_list(path).addresses():
        told = True
        yield address, number
    if not told:
        raise InputError(f"the seed file {path} has no URL in it; write one a line")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for one
        return False


def shortened(text: str) -> str:
    """A text cut for a message."""
    return text if len(text) <= 100 else f"{text[:99]}…"


def _files(settings: Settings) -> list[str]:
    """Every file that a crawl goes by."""
    named = [file for file in (settings.model, settings.vectors) if file]
    want, topic, topic_file = settings.want, settings.topic, settings.topic_file
    if not topic_file and "." not in topic and not any(":" in spec for spec in want):
        return named
    from spoor.judges.spec import files_of

    return [*files_of(want, topic, topic_file), *named]


def _fingerprint(path: Path) -> str:
    """Of a file that a crawl goes by: of its size, its beginning and its end, since vectors may
    have gigabytes. Empty where it cannot be read: whoever needs it will say so."""
    try:
        with plain(path).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            digest = hashlib.sha256(f"{size}\n".encode() + file.read(1 << 20))
            file.seek(max(0, size - (1 << 20)))
            digest.update(file.read(1 << 20))
    except OSError:
        return ""
    return digest.hexdigest()[:16]
