"""On-line SARSA over generalised pages and links.

Han, Wuillemin and Senellart (2018), "Focused crawling through reinforcement learning", ICWE. The
modules follow the paper:

- `states`: features of pages and links (section 3.1), with `relevance` to the topic and its
  `categories`;
- `values`: linear values over them (eq. (2));
- `frontier`: B, the state-action pairs (section 3.2; `pairs`), and the choice from it;
- `policy`: Algorithm 1 with its updates (eqs. (3), (4));
- `training`: weights that pass from task to task (section 4).

The synchronous method chooses link for link what recomputing every value at every step would
choose. Why, and what the paper leaves open: docs/algorithms/sarsa.md.
"""

from spoor.policies.sarsa.policy import UPDATES, Sarsa
from spoor.policies.sarsa.training import train

__all__ = ["UPDATES", "Sarsa", "train"]
