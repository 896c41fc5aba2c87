"""A stranger's folder in which Spoor is started: no process that it starts imports anything of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import spoor

SCRIPT = """
import os, sys
from spoor.isolate.helper_pool import close
from spoor.isolate.parsing import parse_page
from spoor.processes import worker_pool

if __name__ == "__main__":
    page = parse_page(b"kiln " * 2000, "http://a.example/a.txt", content_type="text/plain")
    close()
    with worker_pool(1) as pool:
        inherited = pool.submit(os.getenv, "PYTHONSAFEPATH").result()
    print(page.text[:4], inherited, os.environ.get("PYTHONSAFEPATH"))
"""


def test_no_process_imports_what_lies_in_the_working_folder(tmp_path: Path) -> None:
    """Neither the helpers that parse, nor the workers of a pool, nor what looks after these."""
    stranger, mark = tmp_path / "stranger", tmp_path / "mark"
    for name in ("spoor", "multiprocessing", "json", "signal", "typing"):
        package = stranger / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"open({str(mark)!r}, 'a').write({name!r} + ' ')")
    script = tmp_path / "own.py"
    script.write_text(SCRIPT)
    # Its own sys.path begins with the script's folder, as that of the command `spoor` does.
    done = subprocess.run(
        [sys.executable, script], cwd=stranger, capture_output=True, text=True, check=False
    )
    assert not mark.exists(), mark.read_text()
    assert done.stdout.split() == ["kiln", "None", "None"], done.stderr


def test_whatever_starts_a_python_says_so() -> None:
    for file in Path(spoor.__file__).parent.rglob("*.py"):
        for command in re.findall(r"sys\.executable, (.*)", file.read_text("utf-8")):
            assert command.startswith('"-P"'), file
