"""What a notebook or a script needs: crawls, replays and pictures of them, in a few lines."""

from spoor.notebook.crawl_run import CrawlRun, Explanation, Frontier
from spoor.notebook.functions import run, stream
from spoor.notebook.replays import Result, plot, replay

__all__ = ["CrawlRun", "Explanation", "Frontier", "Result", "plot", "replay", "run", "stream"]
