"""Links sorted into bins: figures by hand, rows and page of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spoor.errors import InputError
from spoor.lab import pages, papers, results
from spoor.lab.cells import run_cells
from spoor.lab.experiment import read
from spoor.lab.kinds import bins
from spoor.testing.small_worlds import TARGET, SmallWorld
from spoor.types import Anchor, KnownWeb, Link, Page

ROOT, LIST, GOAL, DEAD = (f"http://s.example/{name}" for name in ("", "list", "goal", "dead"))


class Told:
    """Sorts links by their anchors: "0" is the first bin."""

    def log_joint(self, page: Page, links: list[tuple[str, Anchor]]) -> NDArray[np.float64]:
        return np.eye(3)[[int(anchor.text) for _, anchor in links]]


def test_figures_by_hand() -> None:
    """Of four links within the site one leads to a target, one is one link before it (told as two
    before), and two lead to no target (one of them told as leading to one)."""
    world = SmallWorld(
        [
            Page(ROOT, links=(Link(LIST, Anchor("2")), Link(DEAD, Anchor("0")))),
            Page(LIST, links=(Link(GOAL, Anchor("0")), Link(LIST, Anchor("0")))),
            Page(GOAL, labels=frozenset({TARGET}), links=(Link(DEAD, Anchor("2")),)),
            Page(DEAD, links=(Link("http://o.example/", Anchor("0")),)),
        ]
    )
    graph = world.graph()
    web = KnownWeb("s", graph, 0, lambda number: world.pages[graph.urls[number]])
    model: Any = {"weights": {"settings": {"gamma": 0.5, "bins": 3}}}
    policy: Any = Told()
    assert bins.sorting(policy, model, web) == {
        "accuracy": 2 / 4,
        "accuracy_on_two": 3 / 4,
        "recall": 1.0,
        "recall_of_rest": 2 / 3,
        "largest_bin": 2 / 4,
    }


EXPERIMENT = """
kind = "bins"
[[webs]]
company = { table = "english", seed = 0 }
sites = ["apcinc", "rowan"]
[[targets]]
want = ["label:job-advert"]
[[policies]]
name = "three"
policy = "naive-bayes"
train = "leave-one-out"
training = { bins = 3 }
"""


@pytest.mark.long
def test_an_experiment_has_a_row_a_model_and_one_a_class(tmp_path: Path) -> None:
    file, out = tmp_path / "sorted.toml", tmp_path / "out"
    file.write_text(EXPERIMENT)
    experiment = read(file, "sorted")
    rows = run_cells(bins.KIND, bins.plan(experiment, out), out)
    assert [row["contender"] for row in rows] == 2 * [
        "three",
        *(f"three, class {number}" for number in (1, 2, 3)),
    ]
    first = rows[0]
    assert first["accuracy"] <= first["accuracy_on_two"] <= 1
    assert all(len(row["words"]) == bins.WORDS for row in rows if "class" in row)
    results.write(out / "sorted", experiment, rows)
    text = pages.markdown(papers.page_of(out / "sorted"))
    assert "| job-advert | three |" in text
    assert "Words by class" in text
    file.write_text(EXPERIMENT.replace('train = "leave-one-out"\n', ""))
    with pytest.raises(InputError, match="bins are of naive-bayes with a training"):
        bins.plan(read(file, "sorted"), out)
