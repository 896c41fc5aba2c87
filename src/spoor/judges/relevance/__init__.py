"""The default judge: how much a page is about a few words, or like a few pages.

It reads each page once, at arrival, and judges the pages that it has seen anew as it learns what
their site repeats and what the surest of them have in common. Card: docs/algorithms/relevance.md.
The modules, in the order in which a page goes through them:

- `reading`: what is kept of a page, and what it says of the wish; its words by `word_counts`,
  `matching`, `nearness` and `loan_words`;
- `repeated`: what a site repeats on its pages, which is left out;
- `word_evidence`: what the words of a wish say of a page, by how rare they are (`frequencies`), and
  `wish_evidence`: of the whole wish;
- `anchors`, `linked`: what links to a page, and the pages around it, say;
- `indexes`, `list_forms`, `copies`: pages that list others, or are copies of one;
- `kept_pages`: pages as vectors, with `term_matrix`, `link_numbers`, `url_numbers` and
  `url_places`;
- `learning`: one feedback over them: the `surest_pages`, what they have in common (`feedback`),
  what changes where there are `many_sites`, and the `cut` between relevant pages and others;
- `judge`: all of it as a judge, whose verdicts are revised.
"""

from spoor.judges.relevance.judge import WORDLESS, Relevance

__all__ = ["WORDLESS", "Relevance"]
