"""Trail: the value of a link, learned from the first page on, from everything that the four teach.

Words near a link tell its future value, and that goes from site to site (Rennie and McCallum 1999);
values are learned on line, with relations to the parent (Han et al. 2018); a page's own value is
inherited by its links (Grigoriadis and Paliouras 2004); good sources are kept and come back to
(Palotai et al. 2005); and links that stand in the same place succeed or fail together. All of it
is one hierarchical model: a logistic regression on hashed words with a random effect for each group
that a link belongs to, its posterior updated after every page
(`spoor.learn.mixed_effects_regression`). Card: docs/algorithms/trail.md, in whose order these are:

- `columns`: what a row of features is made of, and the prior of each weight;
- `features`: a link as such a row;
- `rows`: the rows of all open links, and those of fetched pages;
- `guard`: the learner against the blind prior;
- `groups`: which links stand in the same place, and are valued anew;
- `policy`: values, choices, rewards, corrections, what shards share;
- `training`: a prior from webs that are known whole.
"""

from spoor.policies.trail.policy import Trail
from spoor.policies.trail.training import train

__all__ = ["Trail", "train"]
