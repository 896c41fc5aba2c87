"""What a server gave to ask it later whether a document changed: `ETag` and `Last-Modified`
(RFC 9110, section 8.8).

How to visit a page again without downloading it once more:

1. A run keeps the newest validators of each URL that answered with 200, in its database and with
   the commit of the reply (`spoor.runs.writer.RunWriter`); `RunWriter.validators(url)` gives them,
   also after a resume, and `spoor.runs.database.validators_in(path)` all those of another run.
2. `HttpDriver(…, validators=folder.validators)` asks conditionally whenever that function has
   validators for the URL of a fetch: `Validators.request_headers` are `If-None-Match` and
   `If-Modified-Since`.
3. A 304 to such a request is the reply `spoor.types.NotModified`, with the ticket; a 304 that
   nobody asked for is a failure. A page that changed comes as `Fetched`, with its new validators.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

LONGEST = 512
"""Characters of a validator that are kept; a longer one is none."""

_PLAIN = re.compile(r"[\x20-\x7e]*")


@dataclass(frozen=True, slots=True)
class Validators:
    """Of one version of a document, as its server gave them; empty where it did not."""

    etag: str = ""
    last_modified: str = ""

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> Validators | None:
        """Those of a reply's headers; None where there are none that can be sent back."""
        return cls.checked(headers.get("ETag", ""), headers.get("Last-Modified", ""))

    @classmethod
    def checked(cls, etag: object, last_modified: object) -> Validators | None:
        """From values that may be anything: a header or a database of a stranger."""
        found = cls(_sendable(etag), _sendable(last_modified))
        return found if found.etag or found.last_modified else None

    @property
    def request_headers(self) -> tuple[tuple[str, str], ...]:
        """Headers of a conditional request."""
        pairs = (("If-None-Match", self.etag), ("If-Modified-Since", self.last_modified))
        return tuple((name, value) for name, value in pairs if value)


def _sendable(value: object) -> str:
    sendable = isinstance(value, str) and len(value) <= LONGEST and _PLAIN.fullmatch(value)
    return str(value).strip() if sendable else ""


def is_conditional(request_headers: tuple[tuple[str, str], ...]) -> bool:
    """Whether a request with these headers may be answered by 304."""
    return any(name in ("If-None-Match", "If-Modified-Since") for name, _ in request_headers)
