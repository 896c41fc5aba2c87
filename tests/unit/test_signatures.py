"""Signed requests: RFC 9421 with Ed25519, as the drafts of Web Bot Auth want them."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest
from yarl import URL

from spoor.errors import InputError
from spoor.http.signatures import RequestSigner, directory
from spoor.settings import Settings

pytest.importorskip("http_message_signatures", reason="the extra `sign` is not installed")

RFC_KEY = """-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
"""
"""`test-key-ed25519` of RFC 9421, appendix B.1.4."""
THUMBPRINT = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
"""Its identifier in the drafts' examples."""


@pytest.fixture
def key(tmp_path: Path) -> str:
    (tmp_path / "key.pem").write_text(RFC_KEY)
    return str(tmp_path / "key.pem")


@pytest.mark.parametrize("agent", ["", "https://bot.example.org/"])
def test_a_signature_is_that_of_the_rfc(key: str, agent: str) -> None:
    """Checked against the base that section 2.5 describes, written by hand."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    url = URL("https://Example.com:443/path?query=1")
    headers = dict(RequestSigner(key, agent).headers(url, now=1735689600.7, nonce="e8N7S2MF"))
    covered = '"@authority" "signature-agent"' if agent else '"@authority"'
    parameters = (
        f'({covered});created=1735689600;keyid="{THUMBPRINT}";alg="ed25519";expires=1735689900;'
        'nonce="e8N7S2MF";tag="web-bot-auth"'
    )
    label, _, given = headers["Signature-Input"].partition("=")
    assert sorted(given.split(";")) == sorted(parameters.split(";"))
    lines = ['"@authority": example.com']
    if agent:
        assert headers["Signature-Agent"] == f'"{agent}"'
        lines.append(f'"signature-agent": "{agent}"')
    base = "\n".join([*lines, f'"@signature-params": {given}'])
    found = re.fullmatch(rf"{label}=:(.+):", headers["Signature"])
    assert found is not None
    public = load_pem_private_key(RFC_KEY.encode(), None).public_key()
    public.verify(base64.b64decode(found[1]), base.encode())  # type: ignore[union-attr,call-arg]


def test_each_request_has_a_signature_of_its_own(key: str) -> None:
    signer = RequestSigner(key)
    one, two = (dict(signer.headers(URL("https://a.example/"), now=0.0)) for _ in range(2))
    assert one["Signature"] != two["Signature"]


def test_the_directory_holds_the_public_key_alone(key: str) -> None:
    (known,) = json.loads(directory(key))["keys"]
    assert known["kid"] == THUMBPRINT
    assert known["x"] == "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
    assert "d" not in known


def test_what_is_no_key_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "none.pem").write_text(
        "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n"
    )
    for name, why in (("none.pem", "is no Ed25519 key"), ("missing.pem", "cannot read")):
        with pytest.raises(InputError, match=why) as refused:
            RequestSigner(str(tmp_path / name))
        assert "\n" not in str(refused.value)
    with pytest.raises(InputError, match="sign_agent"):
        Settings(sign_agent="http://bot.example.org/")
