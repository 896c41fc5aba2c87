"""An estimate of what another policy would have harvested, from one run (off-policy evaluation).

A run fetched some of the pages that it knew of, each by a choice whose probability it logged. The
other policy crawls the web *as the run saw it*: the pages that the run fetched, and the links
between them. Every page that it takes there represents similar pages, which the run could have
fetched and did not, with the weight 1/e, where e is the chance that the run fetched this page at
all: e = 1 − (1 − p)^T, with p the probability of the choice that took it and T the choices made
since its link was first seen, as if p had been its probability all that time. The other policy's
crawl ends when its weights add up to the budget; the harvest is the weight of the relevant pages. A
page with p = 1 represents itself alone.

This is importance weighting decision by decision (`weighted`). Weights of entire crawls, products
over thousands of choices, would leave an effective sample of one page. It cannot see pages that the
run had no chance to take, so there is no estimate for a run whose policy took every link with
probability 1.

The doubly robust estimate (`found`) lets the other policy crawl the web *as far as the run knew of
it*, with the links that were left open. A model, fitted to the run's own pages, gives the chance
that the page behind an open link is relevant, by the links to it; the page is drawn from the
relevant or other pages of the run by that chance, and has no links of its own.
Over the pages S that the other policy takes, with m the model's chance for a page that it was not
fitted to, and r the relevance that the run saw,

    Σ_S m + |S| · Σ_{S, fetched} w (r − m) / Σ_{S, fetched} w,    w = 1/e.

Where the model is right the sum is right for any weights; where it is wrong, the weighted residuals
of the pages that the run fetched correct it. Neither knows where the links of unfetched pages lead.
`worst` and `best` bound the unknown: the same crawl with every page that the run never fetched
counted as irrelevant, or as relevant.

The intervals combine the spread over the pages taken (bootstrap), over the draws, and over halves
of the run; the doubly robust one also the bias of half a run, since the complete run is biased in
the same way. benchmarks/whatif.py measures how often they contain the truth: docs/guides/lab.md.

Horvitz and Thompson, JASA 47, 1952; Hájek, Annals of Mathematical Statistics 35, 1964; Precup,
Sutton and Singh, "Eligibility traces for off-policy policy evaluation", ICML 2000 (by decision); Li
et al., "Unbiased offline evaluation of contextual-bandit-based news article recommendation
algorithms", WSDM 2011 (replay); Swaminathan and Joachims, "The self-normalized estimator for
counterfactual learning", NIPS 2015. Doubly robust: Cassel, Särndal and Wretman, Biometrika 63, 1976
(the sum above, of a finite population); Dudík, Langford and Li, ICML 2011; Jiang and Li, ICML 2016;
Thomas and Brunskill, ICML 2016 (weighted); fitted to other pages: Chernozhukov et al.,
Econometrics Journal 21, 2018. Worst and best: Manski, American Economic Review 80, 1990.
"""
