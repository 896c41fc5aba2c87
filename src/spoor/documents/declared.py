"""Metadata that a document declares, in the forms in which Spoor keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from email.utils import parsedate_to_datetime

from spoor.documents.blocks import one_line

_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")
_TAG = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")
_PDF_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?(?:([-+])(\d\d)'?(\d\d)?|Z)?"
)


def iso_date(written: object) -> str:
    """A date or time as ISO 8601, from ISO 8601 or an HTTP date; empty for anything else."""
    if isinstance(written, datetime):
        return written.isoformat(timespec="seconds")
    text = str(written or "").strip()[:60]
    if _DATE.fullmatch(text):
        return text if text[:4] != "0000" else ""
    try:
        return datetime.fromisoformat(text).isoformat(timespec="seconds")
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text).isoformat(timespec="seconds")
    except (ValueError, OverflowError, TypeError, IndexError):
        return ""


def pdf_date(written: str) -> str:
    """A date of PDF (`D:20240131120000+01'00'`) as ISO 8601; empty for anything else."""
    match = _PDF_DATE.match(written.strip())
    if match is None:
        return ""
    year, month, day, hour, minute, second, sign, ahead, minutes = match.groups()
    date = "-".join(filter(None, (year, month, day)))
    if hour is None:
        return iso_date(date)
    zone = f"{sign}{ahead}:{minutes or '00'}" if sign else "+00:00" if "Z" in match[0] else ""
    return iso_date(f"{date}T{hour}:{minute}:{second or '00'}{zone}")


def language_tag(written: object) -> str:
    """A BCP 47 tag (`pt-BR`); empty where it is none."""
    match = _TAG.fullmatch(str(written or "").strip()[:35])
    return match[0].replace("_", "-") if match else ""


def people(names: Iterable[object]) -> str:
    """Names, each once, between semicolons. Addresses of pages are no names."""
    kept: dict[str, None] = {}
    for name in names:
        text = one_line(str(name or ""))[:200]
        if text and not text.startswith(("http://", "https://")):
            kept.setdefault(text)
    return "; ".join(list(kept)[:50])
