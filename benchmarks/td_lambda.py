"""Time of a training of `td-lambda`: 1,000 episodes of 10 steps on a site of 2,000 pages.

    python benchmarks/td_lambda.py [--pages 2000] [--episodes 1000]

One process, one thread; the claim is at most 60 s on one core. Prints seconds of parsing and
choosing keywords, of walking and learning, and whether two runs of one seed give the same bytes.
"""

from __future__ import annotations

import argparse
import os
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402  # after the number of threads is set

from spoor.judges.facts import Label  # noqa: E402
from spoor.learn.state import pack  # noqa: E402
from spoor.policies.td_lambda import train  # noqa: E402
from spoor.types import KnownWeb, State, Task, Topic  # noqa: E402
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2_000)
    parser.add_argument("--episodes", type=int, default=1_000)
    told = parser.parse_args()
    world = GeneratedWorld(GeneratedSettings(pages=told.pages, hosts=1, seed=1))
    graph = world.graph(Label(world.topics[0]))
    site = KnownWeb("generated", graph, 0, lambda number: world.page(graph.urls[number]))

    def run() -> tuple[State, float, float]:
        begun: list[float] = []
        start = time.process_time()

        def tell(done: int, of: int) -> None:
            if not begun:
                begun.append(time.process_time())

        task = Task(np.random.default_rng(0), Topic("pottery"))
        model = train(task, [site], tell, episodes=told.episodes)
        end = time.process_time()
        return model, begun[0] - start, end - begun[0]

    model, reading, learning = run()
    same = pack(run()[0]) == pack(model)
    curve = model["about"]["learning"]["generated"]
    print(f"pages {told.pages:,}, episodes {told.episodes:,} of 10 steps")
    print(f"reading pages, choosing keywords  {reading:6.2f} s")
    print(f"walking and learning              {learning:6.2f} s")
    print(f"in all                            {reading + learning:6.2f} s of CPU, one thread")
    print(f"root mean square error of V       {curve[0]['error']:.4f} → {curve[-1]['error']:.4f}")
    print(f"the same seed gives the same bytes: {same}")


if __name__ == "__main__":
    main()
