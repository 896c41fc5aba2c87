"""Exports to object stores of this machine: moto's server for s3://, an emulator for gs://."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # no stubs

import spoor
from loopback import ADDRESS, Loopback, beside, free_ports, page
from spoor.cli.main import run

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> spoor.CrawlRun:
    site = Loopback(lambda asked: page("/1", "/2", text=f"<p>A kiln {asked.path}.</p>"))
    with beside(site.serving):
        return spoor.run(
            "http://a.example/",
            "kiln",
            out=tmp_path_factory.mktemp("crawl") / "run",
            pages=3,
            delay=0.0,
            traps=True,
            connect_to=f"{ADDRESS}:{site.port}",
        )


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    import fsspec
    from moto.server import ThreadedMotoServer

    (port,) = free_ports()
    server = ThreadedMotoServer(ip_address=ADDRESS, port=port, verbose=False)
    server.start()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{ADDRESS}:{port}")
    try:
        store = fsspec.filesystem("s3", skip_instance_cache=True)
        store.mkdir("corpora")
        yield store
    finally:
        server.stop()


@pytest.fixture
def gs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from gcp_storage_emulator.server import create_server
    from gcsfs.core import GCSFileSystem

    (port,) = free_ports()
    logging.getLogger("gcp_storage_emulator").setLevel(logging.WARNING)
    server = create_server(ADDRESS, port, in_memory=True, default_bucket="corpora")
    server.start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://{ADDRESS}:{port}")
    try:
        yield GCSFileSystem(token="anon", skip_instance_cache=True)
    finally:
        server.stop()


def check(store: Any, scheme: str, crawled: spoor.CrawlRun) -> None:
    folder = str(crawled.path)
    from pyarrow import parquet

    assert run(["export", folder, f"{scheme}://corpora/a/kilns.parquet", "--text"]) == 0
    table = parquet.read_table(io.BytesIO(store.cat_file("corpora/a/kilns.parquet")))
    assert table.num_rows == crawled.found > 0
    assert crawled.export(f"{scheme}://corpora/kilns.warc.gz", everything=True) == 3
    records = ArchiveIterator(io.BytesIO(store.cat_file("corpora/kilns.warc.gz")))
    assert sum(record.rec_type == "response" for record in records) == 3


def test_parquet_and_warc_in_s3(s3: Any, crawled: spoor.CrawlRun, capsys: Any) -> None:
    check(s3, "s3", crawled)
    capsys.readouterr()
    for out, says in {
        "s3://nowhere-at-all/kilns.parquet": "cannot write s3://nowhere-at-all",
        "s3://kilns.parquet": "names no object",
        "s3://corpora/kilns": "can be a file only",
        "ftp://corpora/kilns.parquet": "in no store",
    }.items():
        assert run(["export", str(crawled.path), out]) == 2, out
        assert says in capsys.readouterr().err


def test_parquet_and_warc_in_gs(gs: Any, crawled: spoor.CrawlRun) -> None:
    check(gs, "gs", crawled)
    assert not Path("gs:").exists()
