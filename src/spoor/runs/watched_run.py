"""What a watch takes from a crawl that was run before it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from spoor.errors import InputError
from spoor.runs import files
from spoor.runs.assemble import located
from spoor.runs.reader import Run
from spoor.runs.schema import read_settings
from spoor.settings import Settings

MOST_HUBS = 50


def watched_run(path: Path, settings: Settings) -> tuple[list[str], Settings]:
    """Where to watch: the pages over which the crawl came to most relevant pages, the best first,
    and where it began; and the settings of a watch with the topic of the crawl, where they have
    none. Raises InputError for what is no run or a watch, and for one that found nothing."""
    if not files.is_run(path):
        raise InputError(f"--from {path} is no folder of a run")
    reader = Run(path)
    if reader.settings.command == "watch":
        raise InputError(
            f"--from {path} is a watch; it goes on with its own command, and --from takes a crawl"
        )
    led = Counter[str]()
    for page in reader.pages(relevant=True):
        led[page.path[-2] if len(page.path) > 1 else page.url] += 1
    if not led:
        raise InputError(f"--from {path}: that run found nothing that is relevant")
    begun = located(reader.settings)
    hubs = [url for url, _ in led.most_common(MOST_HUBS)]
    return list(dict.fromkeys([*hubs, *begun.seeds])), _with_topic_of(begun, settings)


def begun_from(path: Path, settings: Settings) -> tuple[list[str], Settings]:
    """The same of a watch in the folder `path` that was begun so: as it was begun. Raises
    InputError where its settings cannot be read."""
    begun = read_settings(path)
    return list(begun.seeds), _with_topic_of(begun, settings)


def _with_topic_of(begun: Settings, settings: Settings) -> Settings:
    if settings.wants:
        return settings
    return replace(settings, topic=begun.topic, topic_file=begun.topic_file, want=begun.want)
