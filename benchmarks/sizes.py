"""How large an installation is, by distribution, and what `spoor --help` costs.

    VENV/bin/python benchmarks/sizes.py

of a new environment in which the wheel was installed: megabytes of the files that each wheel
brought and of the compiled ones that pip added, who asks for it, and the sum without pip and
setuptools; then the medians of wall clock and CPU seconds of seven `spoor --help`.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import time
from importlib.metadata import distributions
from pathlib import Path
from statistics import median

APART = {"pip", "setuptools"}
RUNS = 7


def main() -> None:
    sizes: dict[str, int] = {}
    compiled: dict[str, int] = {}
    asked: dict[str, set[str]] = {}
    for one in distributions():
        files = {Path(str(one.locate_file(file))) for file in one.files or ()}
        there = {file: file.stat().st_size for file in files if file.exists()}
        sizes[one.name] = sum(there.values())
        compiled[one.name] = sum(size for file, size in there.items() if file.suffix == ".pyc")
        for line in one.requires or ():
            if "extra" not in line:
                name = re.split(r"[^\w.-]", line)[0].lower().replace("_", "-")
                asked.setdefault(name, set()).add(one.name)
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        by = ", ".join(sorted(asked.get(name.lower().replace("_", "-"), ())))
        print(f"{size / 1e6:7.2f} MB, {compiled[name] / 1e6:5.2f} compiled  {name}  {by}")
    whole = sum(size for name, size in sizes.items() if name not in APART)
    of_these = sum(size for name, size in compiled.items() if name not in APART)
    print(f"{whole / 1e6:7.1f} MB  all but pip and setuptools; {of_these / 1e6:.1f} MB compiled")
    walls, cpus = [], []
    for _ in range(RUNS):
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "spoor", "--help"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        walls.append(time.perf_counter() - began)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    print(f"{median(walls):7.2f} s   spoor --help, of which {median(cpus):.2f} s CPU")


if __name__ == "__main__":
    main()
