"""Web Bot Auth: requests signed by the key of whoever crawls (RFC 9421, Ed25519), so that a site
can tell this crawler from others that call themselves by its name.

A request says where the public key is (`Signature-Agent`), and is signed for one host and five
minutes. `directory` gives what stands there, under
`/.well-known/http-message-signatures-directory`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from yarl import URL

from spoor.distribution import import_extra
from spoor.errors import InputError

TAG = "web-bot-auth"
LIFETIME = 300.0
"""Seconds that a signature is valid."""

_MOST_KEY = 1 << 16
"""Bytes of a file with a key."""

Headers = tuple[tuple[str, str], ...]


@dataclass
class _Request:
    """As the signing library takes it."""

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)


class _Keys:
    """A key ring of one key."""

    def __init__(self, key: Any) -> None:
        self._key = key

    def resolve_private_key(self, key_id: str) -> Any:
        return self._key

    def resolve_public_key(self, key_id: str) -> Any:
        return self._key.public_key()


class RequestSigner:
    """Signs with the Ed25519 key of a PEM file; `agent`: https URL of the site with its directory,
    empty where the key is known to sites by other means. Raises InputError where the file is none,
    or where the extra `sign` is not installed."""

    def __init__(self, file: str, agent: str = "") -> None:
        signing, algorithms = import_extra(
            "sign", "--sign-key", "http_message_signatures", "http_message_signatures.algorithms"
        )
        self._key = read_key(Path(file).expanduser())
        self._agent = f'"{agent}"' if agent else ""
        self._components = ("@authority", "signature-agent") if agent else ("@authority",)
        self._signer = signing.HTTPMessageSigner(
            signature_algorithm=algorithms.ED25519, key_resolver=_Keys(self._key)
        )
        self.key_id = thumbprint(self._key)

    def headers(self, url: URL, *, now: float | None = None, nonce: str | None = None) -> Headers:
        """The headers that sign a request. `now`: Unix seconds. .3 ms."""
        created = time.time() if now is None else now
        request = _Request("GET", str(url))
        if self._agent:
            request.headers["Signature-Agent"] = self._agent
        self._signer.sign(
            request,
            key_id=self.key_id,
            created=datetime.fromtimestamp(int(created), UTC),
            expires=datetime.fromtimestamp(int(created + LIFETIME), UTC),
            nonce=nonce or base64.b64encode(secrets.token_bytes(64)).decode(),
            label="sig1",
            tag=TAG,
            covered_component_ids=self._components,
        )
        return tuple(request.headers.items())


def read_key(path: Path) -> Any:
    """The Ed25519 private key of a PEM file. Raises InputError."""
    serialization, ed25519 = import_extra(
        "sign",
        "--sign-key",
        "cryptography.hazmat.primitives.serialization",
        "cryptography.hazmat.primitives.asymmetric.ed25519",
    )
    try:
        with path.open("rb") as file:  # which may be a pipe
            written = file.read(_MOST_KEY)
        key = serialization.load_pem_private_key(written, password=None)
    except OSError as error:
        raise InputError(f"cannot read --sign-key {path}: {error.strerror}") from None
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InputError(
            f"--sign-key {path} is no Ed25519 key in PEM without a password; make one by: openssl "
            f"genpkey -algorithm ed25519 -out {path}"
        )
    return key


def public_jwk(key: Any) -> dict[str, str]:
    """The public half of a key as a JSON Web Key (RFC 8037)."""
    raw = key.public_key().public_bytes_raw()
    return {"crv": "Ed25519", "kty": "OKP", "x": _base64url(raw)}


def thumbprint(key: Any) -> str:
    """The identifier of a key (RFC 7638)."""
    text = json.dumps(public_jwk(key), sort_keys=True, separators=(",", ":"))
    return _base64url(hashlib.sha256(text.encode()).digest())


def directory(file: str | Path) -> str:
    """The JSON that the site which `--sign-agent` names serves, as
    `application/http-message-signatures-directory+json`. Raises InputError as `read_key` does."""
    key = read_key(Path(file))
    return json.dumps({"keys": [{**public_jwk(key), "kid": thumbprint(key), "use": "sig"}]})


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
