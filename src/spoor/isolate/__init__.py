"""Parses documents that may cost much in helper processes, under limits of time and memory.

A C library that reads a stranger's document can take gigabytes for 60 kB, and cannot be stopped
from outside. So helper processes parse HTML that may cost much (`spoor.web.parse_cost`), wikitext,
and every kind of document but HTML and short text. The kernel ends a helper that uses more
processor time than its `Bounds` allow, and gives it no more memory than they allow: the document is
given up, and the next one gets a fresh helper. A helper answers in JSON, so one that a document
took over can only lie about its page.

Ordinary HTML is parsed in this process. A helper starts with the first document that needs one
(some .3 s) and ends with this process, even if that is killed. There are three: for HTML, for other
documents, so that a page never waits for a PDF, and for sites whose documents take long
(`spoor.live.helper_turns`). Whoever reads many documents of a run has some more, and sends them
several at a time (`spoor.runs.read_ahead`): the bounds are of each document all the same.

Callers ask `parsing` for pages and documents, and `helper_pool` for what any other function says of
one. `helper` is a helper process as seen from here, `child` what runs in it, `pipes` what goes
between the two, `bounds` what a document may take.
"""
