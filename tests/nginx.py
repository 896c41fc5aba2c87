"""nginx as a site, for tests that want a server of others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.test_proxies import started

CONF = """
daemon off;
master_process off;
pid {folder}/pid;
error_log stderr;
events {{ }}
http {{
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{http}
}}
"""


def required(name: str, package: str) -> str:
    """Where a server's program is; the test is skipped where it is not installed."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: {package})")
    return found


def require_nginx() -> str:
    """Where nginx is; the test is skipped where it is not installed."""
    return required("nginx", "nginx-light")


@contextmanager
def nginx(folder: Path, port: int, http: str) -> Iterator[None]:
    """It serves at a port, with this `http` block, files of its own in the folder."""
    (folder / "conf").write_text(CONF.format(folder=folder, http=http))
    command = [require_nginx(), "-p", str(folder), "-c", str(folder / "conf")]
    with started(command, port, folder / "out"):
        yield
