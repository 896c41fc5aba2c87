"""PageSift's crawl, through its MCP server, with the wish as its query."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.duel.adapter import Crawl, pip_install, version_of

LOOK = 5
"""Seconds between two looks; each brings all pages anew."""


def describe(environment: Path) -> Mapping[str, Any]:
    return {
        "title": "PageSift",
        "version": version_of("pagesift"),
        "settings": "pagesift_crawl: query = the wish, limit = N, maxConcurrency 1, "
        "crawlEntireDomain, engine http; of twenty hosts allowExternalLinks",
        "told": "a `relevance` above 0 (it names no threshold)",
    }


def install(environment: Path) -> None:
    pip_install(environment, "pagesift")


def crawl(it: Crawl) -> None:
    server = subprocess.Popen(
        [it.environment / "bin" / "pagesift-mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    last = 0

    def ask(method: str, **params: Any) -> Any:
        nonlocal last
        last += 1
        assert server.stdin is not None
        assert server.stdout is not None
        message = {"jsonrpc": "2.0", "id": last, "method": method, "params": params}
        server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        while True:
            answer = json.loads(server.stdout.readline())
            if answer.get("id") == last:
                return answer["result"]

    def call(tool: str, **arguments: Any) -> Any:
        result = ask("tools/call", name=tool, arguments=arguments)
        text = result["content"][0]["text"]
        if result.get("isError"):
            raise SystemExit(text)
        return json.loads(text)

    client = {"name": "duel", "version": "1"}
    ask("initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo=client)
    assert server.stdin is not None
    server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    job = call(
        "pagesift_crawl",
        url=it.start,
        query=it.wish,
        limit=it.pages,
        delay=0.01,
        crawlEntireDomain=True,
        allowExternalLinks=it.hosts,
        maxConcurrency=1,
        maxDiscoveryDepth=20,
        scrapeOptions={"formats": ["markdown"], "engine": "http"},
    )
    print(json.dumps(job), flush=True)
    told: set[str] = set()
    while True:
        status = call("pagesift_crawl_status", id=job["id"])
        for page in status.get("data", []):
            metadata = page.get("metadata", {})
            url = metadata.get("url") or metadata.get("sourceURL") or ""
            if url and url not in told:
                told.add(url)
                relevance = metadata.get("pagesift", {}).get("relevance") or 0
                markdown = len(page.get("markdown") or "")
                it.say(url, relevant=relevance > 0, score=relevance, markdown=markdown)
        if status.get("status") not in ("scraping", "running", "queued", "pending"):
            print(json.dumps({key: status[key] for key in status if key != "data"}), flush=True)
            break
        time.sleep(LOOK)
    server.kill()
