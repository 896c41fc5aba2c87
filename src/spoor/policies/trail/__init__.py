"""Trail: the value of a link, learned from the first page on, by the methods of four papers.

Words near a link predict its future value, across sites (Rennie and McCallum 1999);
values are learned on line, with relations to the parent (Han et al. 2018); a page's own value is
inherited by its links (Grigoriadis and Paliouras 2004); good sources are remembered and revisited
(Palotai et al. 2005); and links in the same place succeed or fail together. All of it
is one hierarchical model: a logistic regression on hashed words with a random effect for each group
that a link belongs to, its posterior updated after every page
(`spoor.learn.mixed_effects_regression`). Card: docs/algorithms/trail.md. The modules:

- `columns`: what a row of features is made of, and the prior of each weight;
- `features`: a link as such a row;
- `rows`: the rows of all open links;
- `fetched_pages`: those of fetched pages;
- `failures`: the chance that a link leads to a page at all;
- `learners`: what a crawl learns with, one model or a trained one beside an untrained one;
- `guard`: the learner against the blind prior;
- `groups`: links in the same place, which are revalued together;
- `policy`: values, choices, rewards, corrections, what shards share;
- `training`: a prior from completely known webs.
"""

from spoor.policies.trail.policy import Trail

__all__ = ["Trail"]
