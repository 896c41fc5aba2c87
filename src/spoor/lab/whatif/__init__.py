"""An estimate of what another policy would have harvested, from one run (off-policy evaluation).

A run fetched some of the pages that it knew of, each by a choice whose probability it noted. The
other policy crawls the web *as the run saw it*: the pages that the run fetched, and the links
between them. Every page that it takes there stands for pages like it, which the run could as well
have fetched and did not, with the weight 1/e, where e is the chance that the run fetched this page
at all: e = 1 − (1 − p)^T, with p the probability of the choice that took it and T the choices made
since its link was first seen, as if p had been its probability all that time. The other policy's
crawl ends when its pages stand for as many as the budget; the harvest is the weight of the relevant
ones. A page with p = 1 stands for itself alone.

This is importance weighting decision by decision (`weighted`). Weights of whole crawls, products
over thousands of choices, would leave an effective sample of one page. It cannot see pages that the
run had no chance to take, so there is no estimate for a run whose policy took every link with
probability 1.

The doubly robust estimate (`found`) lets the other policy crawl the web *as far as the run knew of
it*, with the links that were left open. A model, fitted to the run's own pages, gives the chance
that the page behind an open link is relevant, by the links to it; the page is drawn from the
relevant or other pages of the run by that chance, and has no links of its own.
Over the pages S that the other policy takes, m what the model says of a page that it was not
fitted to, and r what the run saw,

    Σ_S m + |S| · Σ_{S, fetched} w (r − m) / Σ_{S, fetched} w,    w = 1/e.

Where the model is right the sum is right whatever the weights are; where it is wrong, the weighted
residuals of the pages that the run happened to fetch correct it. What neither can tell is where the
links of unfetched pages lead. `worst` and `best` say what cannot be known at all: the same crawl
with every page that the run never fetched taken for irrelevant, or for relevant.

The intervals hold the spread over the pages taken (bootstrap), over what was drawn, and over halves
of the run, together; the doubly robust one also what half a run sees too little of, since the
whole sees too little in the same way. How often they hold the truth is measured by
benchmarks/whatif.py: docs/guides/lab.md.

Horvitz and Thompson, JASA 47, 1952; Hájek, Annals of Mathematical Statistics 35, 1964; Precup,
Sutton and Singh, "Eligibility traces for off-policy policy evaluation", ICML 2000 (by decision); Li
et al., "Unbiased offline evaluation of contextual-bandit-based news article recommendation
algorithms", WSDM 2011 (replay); Swaminathan and Joachims, "The self-normalized estimator for
counterfactual learning", NIPS 2015. Doubly robust: Cassel, Särndal and Wretman, Biometrika 63, 1976
(the sum above, of a finite population); Dudík, Langford and Li, ICML 2011; Jiang and Li, ICML 2016;
Thomas and Brunskill, ICML 2016 (weighted); fitted to other pages: Chernozhukov et al.,
Econometrics Journal 21, 2018. Worst and best: Manski, American Economic Review 80, 1990.
"""
