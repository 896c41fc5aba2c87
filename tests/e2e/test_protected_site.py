"""A site behind a password, served by nginx: crawled with a netrc, and visited again by validators."""

from __future__ import annotations

import asyncio
import gzip
from contextlib import closing
from pathlib import Path

import pytest

from loopback import ADDRESS, free_ports
from nginx import nginx
from spoor.http.address_guard import AddressGuard
from spoor.http.client import Client
from spoor.live.live_crawl import LiveCrawl
from spoor.runs.assemble import make_crawl
from spoor.runs.database import reading, validators_of
from spoor.runs.reader import Run
from spoor.runs.writer import RunWriter
from spoor.settings import Settings

pytestmark = pytest.mark.server

HTTP = """
    access_log {folder}/log;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/site;
        auth_basic "pottery";
        auth_basic_user_file {folder}/users;
        location = /robots.txt {{ return 404; }}
        location = /moved {{ return 302 http://localhost:{port}/; }}
    }}
"""


def test_a_site_behind_a_password(tmp_path: Path) -> None:
    (port,), site = free_ports(), tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<a href=clay.html>clay</a> <a href=/moved>moved</a>")
    (site / "clay.html").write_text("<p>clay and kilns")
    (tmp_path / "users").write_text("anna:{PLAIN}sesame-nginx\n")
    (tmp_path / "netrc").write_text(f"machine {ADDRESS} login anna password sesame-nginx\n")
    with nginx(tmp_path, port, HTTP.format(folder=tmp_path, port=port)):
        root = f"http://{ADDRESS}:{port}/"
        told = Settings(
            seeds=(root,),
            topic="clay",
            scope="anywhere",
            delay=0.0,
            allow_private=(ADDRESS, "localhost"),
            netrc=str(tmp_path / "netrc"),
        )
        with closing(RunWriter(tmp_path / "run", told)) as folder:
            LiveCrawl(folder, make_crawl(told)).run()
        run = Run(tmp_path / "run")
        assert {page.url for page in run.pages()} == {root, f"{root}clay.html"}
        (moved,) = run.failures()
        assert (moved.status, moved.url) == (401, f"http://localhost:{port}/"), "not sent there"
        archive = gzip.decompress((tmp_path / "run" / "pages.warc.gz").read_bytes())
        assert b"clay and kilns" in archive
        assert b"Authorization: Basic" not in archive

        with reading(tmp_path / "run") as db:
            known = validators_of(db, f"{root}clay.html")
        assert known is not None
        assert known.etag
        assert known.last_modified

        async def again() -> tuple[int, int]:
            guard = AddressGuard(told)
            client = Client(told, guard)
            try:
                same = await client.get(f"{root}clay.html", 0.0, headers=known.request_headers)
                (site / "clay.html").write_text("<p>clay, kilns and glazes")
                other = await client.get(f"{root}clay.html", 0.0, headers=known.request_headers)
                return same.status, other.status
            finally:
                await client.close()
                await guard.close()

        assert asyncio.run(again()) == (304, 200)
