"""feedstock's deep crawl with its scorers of keywords and paths, from its command line."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.duel.adapter import Crawl, run


def describe(environment: Path) -> Mapping[str, Any]:
    package = json.loads((environment / "node_modules/feedstock/package.json").read_text())
    return {
        "title": "feedstock",
        "version": package["version"],
        "settings": "feedstock deep-crawl START --scorer WORD … --max-pages N --max-depth 20 "
        "(best-first; keywords 2.0, path depth 1.0; fetch engine first), on Bun",
        "told": "",
    }


def install(environment: Path) -> None:
    (environment / "package.json").write_text('{"private": true}\n')
    run(["npm", "install", "--no-audit", "--no-fund", "feedstock", "bun"], environment)
    bun = environment / "node_modules" / "bun"
    if not (bun / "bin" / "bun").exists():
        run(["node", "install.js"], bun)


def crawl(it: Crawl) -> None:
    modules = it.environment / "node_modules"
    bun = next(path for path in (modules / "bun" / "bin").glob("bun*") if "bunx" not in path.name)
    command = [str(bun), str(modules / "feedstock" / "src" / "cli" / "index.ts"), "deep-crawl"]
    command += [it.start, "--max-pages", str(it.pages), "--max-depth", "20", "--output", "ndjson"]
    for word in it.keywords:
        command += ["--scorer", word]
    environment = {**os.environ, "FEEDSTOCK_CACHE": "off"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                row = json.loads(line)
            except ValueError:
                print(line, end="", flush=True)
                continue
            if isinstance(row, dict) and isinstance(row.get("url"), str):
                markdown = row.get("markdown") or {}
                it.say(row["url"], markdown=len(str(markdown.get("rawMarkdown") or "")))
