"""Disks that are full, read-only, slow, fail to sync, or keep no locks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import disk_faults


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)
def test_a_disk_that_fails_pauses_a_crawl_and_nothing_is_lost(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, disk_faults.__file__, str(tmp_path)],
        env={**os.environ, "LD_PRELOAD": str(disk_faults.library(tmp_path))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    rows = json.loads(ended.stdout)
    assert len(rows) == len(disk_faults.FAULTS)
    for (kind, file, _, error, _), said, failed, pages in rows:
        assert failed, f"no {kind} of {file}"
        assert pages == disk_faults.PAGES
        assert "\n" not in said
        if kind == "lock":
            assert said.startswith("InputError: cannot lock RUN"), said
            assert "choose an --out on a local disk" in said
        elif error:
            assert said.startswith("PausedError: paused: cannot write RUN"), said
        else:
            assert said == "no open link left", "a slow disk only takes longer"
