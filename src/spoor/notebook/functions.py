"""`spoor.run` and `spoor.stream`, with every setting of a crawl as a keyword.

Made by `spoor settings --keywords` from `spoor.settings.Settings`, so that editors and `help` show
the types and defaults.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Never

from spoor.notebook.crawl_run import CrawlRun
from spoor.notebook.crawls import OnPage, begin, settings_of, stream_crawl
from spoor.runs import files
from spoor.runs.documents import RunDocument

_OWN = {"seeds", "out", "on_page", "progress", "wait", "everything", "unknown"}


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among the keywords of a call, and what is unknown, which is refused later."""
    known = {name: value for name, value in given.items() if name not in _OWN}
    return {**known, **given["unknown"]}


def run(
    seeds: str | Sequence[str],
    topic: str | PathLike[str] = "",
    *,
    out: str | Path | None = None,
    on_page: OnPage | None = None,
    progress: bool | None = None,
    wait: bool = True,
    refresh: str = "",
    hints: bool = True,
    may_miss: float = 0.01,
    topic_file: str | PathLike[str] = "",
    want: str | Sequence[str] = (),
    prefer: str = "",
    whole_site: bool = False,
    list_pages: bool = False,
    second_opinion: str = "",
    second_asks: int = 200,
    second_seconds: float = 600.0,
    policy: str = "trail",
    params: Mapping[str, Any] | None = None,
    model: str | PathLike[str] = "",
    worse_model: Literal["tell", "trail", "off"] = "tell",
    vectors: str | PathLike[str] = "",
    pages: int | None = 1000,
    max_time: float = 0.0,
    max_bytes: int = 0,
    found: int | None = None,
    floor: float = 0.0,
    window: int = 200,
    saturation: float = 0.0,
    least: float = 0.0,
    delay: float = 1.0,
    per_host: int = 1,
    per_domain: int = 0,
    per_address: int = 0,
    in_flight: int = 16,
    frontier: str = "auto",
    scope: Literal["page", "directory", "host", "domain", "list", "anywhere"] = "domain",
    follow_seeds: bool = False,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    actions: bool = False,
    nofollow: bool = True,
    max_depth: int | None = None,
    pages_per_host: int | None = None,
    pages_per_domain: int | None = None,
    found_per_host: int | None = None,
    traps: bool = False,
    sitemaps: bool = False,
    search_index: bool = True,
    site_search: bool = True,
    seed: int = 0,
    allow_private: str | Sequence[str] = (),
    connect_to: str = "",
    contact: str = "",
    robots: bool = True,
    render: Literal["auto", "always", "never"] = "auto",
    chromium: str = "",
    noai: bool = False,
    agent: str = "",
    header: str | Sequence[str] = (),
    cookies: str | PathLike[str] = "",
    keep_cookies: bool = True,
    netrc: str | PathLike[str] = "",
    proxy: str = "",
    sign_key: str | PathLike[str] = "",
    sign_agent: str = "",
    warc: bool = True,
    requisites: Literal["none", "relevant", "all"] = "none",
    save_files: bool = False,
    metrics: str = "",
    otel: bool = False,
    shards: int = 0,
    cluster: str = "",
    backoff: float = 5.0,
    robots_max_age: float = 86400.0,
    max_crawl_delay: float = 60.0,
    timeout: float = 30.0,
    render_timeout: float = 30.0,
    connect_timeout: float = 10.0,
    body_limit: int = 10485760,
    ratio_limit: float = 200.0,
    header_limit: int = 262144,
    types: str | Sequence[str] = (
        "html",
        "pdf",
        "text",
        "markdown",
        "feed",
        "xml",
        "json",
        "docx",
        "xlsx",
        "pptx",
        "odt",
        "ods",
        "odp",
        "epub",
    ),
    type_limits: str | Sequence[str] = (),
    refusals: bool = False,
    verify_tls: bool = True,
    **unknown: Never,
) -> CrawlRun:
    """Crawl live, as `spoor crawl` does; the same call on the same folder goes on.

    `seeds`: a URL, several, or a file of URLs. `out`: the folder of the run; None for a new one
    under `runs`. `on_page` is called with each fetched document, in the thread of the caller (with
    `wait=False`, in the crawl's own); where it raises, the crawl stops and the error is raised.
    `progress`: a bar; None for one in a notebook only. With `wait=False` it returns at once, and
    the run has `cancel` and `wait`. An interrupt stops the crawl, and returns its run as it is.

    Works in a notebook, whose event loop runs already, in a thread, and in a script without a main
    guard. Raises InputError with the line that the command line prints, also where no page came.

    `refresh`: Visit the pages of the run in this folder again, and write the new state to a new
    run.

    `hints`: With --refresh, leave out pages that sitemaps or Cache-Control call unchanged, but for
    a sample that checks them.

    `may_miss`: With --refresh, leave out the other pages of a host, too, once a sample says that at
    most this share of them changed (95 %); each is asked for once in 100 refreshes at least; 0: ask
    for all.

    `topic_file`: The topic: a TOML file.

    `want`: url:REGEX, match:REGEX, type:GLOB, text:WORDS, query:WORDS or topic:FILE; several are
    or-ed.

    `prefer`: What counts more where the topic is in words: precision, recall, balanced, or a number
    (beta of F-beta); as its topic file says, if empty.

    `whole_site`: Archive the whole site: up to 100,000 pages, breadth-first, each of which counts
    where there is no topic; with copies, documents of every kind, what sitemaps name, and what
    pages need to be shown. Each of these settings can be given beside it.

    `list_pages`: List pages may be relevant, too: those made of headings that lead to documents,
    and their dates, as a blog's front page and the page of a tag.

    `second_opinion`: Encoder folder or module:function that is asked about pages near the
    threshold.

    `second_asks`: Most questions of --second-opinion.

    `second_seconds`: Most seconds that its answers take in all.

    `policy`: See `spoor policies`.

    `params`: A parameter of the policy: name=value.

    `model`: What `spoor train` wrote.

    `worse_model`: Where a model orders links worse than breadth-first would: tell, let trail go on
    instead, or off (nothing is compared).

    `vectors`: Word vectors (GloVe, word2vec).

    `pages`: Budget of pages.

    `max_time`: End after so long, earlier parts of the run counted; 0: no limit.

    `max_bytes`: End after so many bytes of documents, decompressed; 0: no limit.

    `found`: End once so many relevant pages are found.

    `floor`: End when the last pages' harvest rate falls below it.

    `window`: Pages that --floor looks at.

    `saturation`: End when, by estimate, less than this share is left.

    `least`: End when the next 100 pages will find fewer.

    `delay`: Seconds between two requests to a host.

    `per_host`: Requests to a host at a time.

    `per_domain`: Requests to a domain at a time; 0: no limit.

    `per_address`: Requests to an address at a time; 0: no limit.

    `in_flight`: Requests in flight, few at first; 8 times as many may wait for hosts that do not
    answer.

    `frontier`: memory, disk, or auto: on disk from 1,000 open links on.

    `scope`: page: the seeds alone; directory: what lies below the folders of the seeds; host: the
    hosts of the seeds, with and without www.; domain: the domains of the seeds, with all their
    hosts; list: what --include lists, on any host; anywhere: every host.

    `follow_seeds`: Where a seed redirects out of --scope, what it leads to is a seed as well.

    `include`: Only URLs that fit: a glob (*/docs/*, /docs/*, *.pdf) or re:REGEX; several are or-ed.

    `exclude`: No URLs that fit, as --include.

    `actions`: Follow links that do something, too: log out, edit, delete, add to a basket.

    `nofollow`: Obey nofollow of pages and links.

    `max_depth`: Follow links at most this far from a seed.

    `pages_per_host`: Most pages of one host, and most links of it that come to nothing; a run may
    go on with another number.

    `pages_per_domain`: Most pages of one registrable domain; a run may go on with another number.

    `found_per_host`: Leave a host once so many were found there; a run may go on with another
    number.

    `traps`: Follow links that are held back, too: copies, endless calendars.

    `sitemaps`: Take links from sitemaps; each counts as a page.

    `search_index`: Take links and titles from the search index of a site of documentation, and,
    where there is no other link, from the sitemaps that robots.txt names; each counts as a page.

    `site_search`: Ask the search of a site for the topic, three times at most; each counts as a
    page.

    `seed`: Seed of everything random.

    `allow_private`: A host whose loopback or private address may be connected to.

    `connect_to`: ADDRESS:PORT that every host stands for (a served web).

    `contact`: URL or mail address of who runs it.

    `robots`: Obey robots.txt.

    `render`: Render pages in Chromium (extra `render`): always, never, or auto: where that pays.

    `chromium`: The Chromium that renders; one on PATH by default.

    `noai`: Leave out pages that ask for it (noai, TDMRep).

    `agent`: The user agent, in place of Spoor/VERSION (+CONTACT).

    `header`: 'Name: value', for the seeds' hosts alone, or 'HOST|Name: value'.

    `cookies`: A browser's cookies.txt (Netscape); each goes to its host.

    `keep_cookies`: Take and send back cookies that sites set.

    `netrc`: A netrc: users and passwords by host.

    `proxy`: URL of a proxy; direct: none. Without it HTTP_PROXY, HTTPS_PROXY, NO_PROXY.

    `sign_key`: Sign requests (Web Bot Auth) by this Ed25519 key.

    `sign_agent`: URL where others find the key, for Signature-Agent.

    `warc`: Archive the pages as WARC.

    `requisites`: Archive what a browser needs to show pages, too (pictures, styles, scripts,
    fonts): none, relevant (of pages that are), or all.

    `save_files`: Save the relevant documents as they came, too, under files/.

    `metrics`: Serve Prometheus metrics at this ADDRESS:PORT while it runs.

    `otel`: Send OpenTelemetry traces and metrics (OTEL_… say where).

    `shards`: Crawl in so many processes, on Ray; 0: in this one.

    `cluster`: Address of the Ray cluster that they run on.

    `backoff`: Seconds before a request is tried again; twice as long each time.

    `robots_max_age`: Seconds that a robots.txt is kept.

    `max_crawl_delay`: Leave a host whose Crawl-delay is longer (seconds).

    `timeout`: Seconds of a whole exchange.

    `render_timeout`: Seconds to render one page.

    `connect_timeout`: Seconds to connect.

    `body_limit`: Bytes of a body, decompressed; the rest is cut off, and the page says so.

    `ratio_limit`: Decompressed bytes for each one received, beyond the first MiB.

    `header_limit`: Bytes of a reply's headers.

    `types`: Kinds of documents that are downloaded, or media types (image/*); those that --want
    asks for are, too. Of others the headers are enough, and of pictures, sounds, films and
    archives, by their names, the first three below a folder.

    `type_limits`: Bytes of a body of one kind: pdf=50000000.

    `refusals`: Treat as documents, too, what is sent in their place: challenges, log-ins, walls of
    consent, 'not found' with status 200.

    `verify_tls`: Verify certificates.
    """
    settings = settings_of(seeds, _settings(locals()))
    path = files.new_run() if out is None else Path(out)
    return CrawlRun(path, begin(path, settings, on_page=on_page, progress=progress, wait=wait))


def stream(
    seeds: str | Sequence[str],
    topic: str | PathLike[str] = "",
    *,
    out: str | Path | None = None,
    everything: bool = False,
    on_page: OnPage | None = None,
    refresh: str = "",
    hints: bool = True,
    may_miss: float = 0.01,
    topic_file: str | PathLike[str] = "",
    want: str | Sequence[str] = (),
    prefer: str = "",
    whole_site: bool = False,
    list_pages: bool = False,
    second_opinion: str = "",
    second_asks: int = 200,
    second_seconds: float = 600.0,
    policy: str = "trail",
    params: Mapping[str, Any] | None = None,
    model: str | PathLike[str] = "",
    worse_model: Literal["tell", "trail", "off"] = "tell",
    vectors: str | PathLike[str] = "",
    pages: int | None = 1000,
    max_time: float = 0.0,
    max_bytes: int = 0,
    found: int | None = None,
    floor: float = 0.0,
    window: int = 200,
    saturation: float = 0.0,
    least: float = 0.0,
    delay: float = 1.0,
    per_host: int = 1,
    per_domain: int = 0,
    per_address: int = 0,
    in_flight: int = 16,
    frontier: str = "auto",
    scope: Literal["page", "directory", "host", "domain", "list", "anywhere"] = "domain",
    follow_seeds: bool = False,
    include: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    actions: bool = False,
    nofollow: bool = True,
    max_depth: int | None = None,
    pages_per_host: int | None = None,
    pages_per_domain: int | None = None,
    found_per_host: int | None = None,
    traps: bool = False,
    sitemaps: bool = False,
    search_index: bool = True,
    site_search: bool = True,
    seed: int = 0,
    allow_private: str | Sequence[str] = (),
    connect_to: str = "",
    contact: str = "",
    robots: bool = True,
    render: Literal["auto", "always", "never"] = "auto",
    chromium: str = "",
    noai: bool = False,
    agent: str = "",
    header: str | Sequence[str] = (),
    cookies: str | PathLike[str] = "",
    keep_cookies: bool = True,
    netrc: str | PathLike[str] = "",
    proxy: str = "",
    sign_key: str | PathLike[str] = "",
    sign_agent: str = "",
    warc: bool = True,
    requisites: Literal["none", "relevant", "all"] = "none",
    save_files: bool = False,
    metrics: str = "",
    otel: bool = False,
    shards: int = 0,
    cluster: str = "",
    backoff: float = 5.0,
    robots_max_age: float = 86400.0,
    max_crawl_delay: float = 60.0,
    timeout: float = 30.0,
    render_timeout: float = 30.0,
    connect_timeout: float = 10.0,
    body_limit: int = 10485760,
    ratio_limit: float = 200.0,
    header_limit: int = 262144,
    types: str | Sequence[str] = (
        "html",
        "pdf",
        "text",
        "markdown",
        "feed",
        "xml",
        "json",
        "docx",
        "xlsx",
        "pptx",
        "odt",
        "ods",
        "odp",
        "epub",
    ),
    type_limits: str | Sequence[str] = (),
    refusals: bool = False,
    verify_tls: bool = True,
    **unknown: Never,
) -> AsyncIterator[RunDocument]:
    """The relevant documents of a crawl, or `everything`, as they are found:
    `async for document in spoor.stream(…)`. Each is judged as it comes; what the judge says of it
    later, when it knows more, is in the run (`spoor.open`). Where the loop is left, the crawl is
    cancelled, at the latest when the iterator is closed; the same call on the same folder goes on.

    The keywords are those of `run`.
    """
    given = _settings(locals())
    return stream_crawl(seeds, given, out=out, everything=everything, on_page=on_page)
