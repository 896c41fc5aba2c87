"""Each promise of the security page names a test that there is."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from attacks.__main__ import ATTACKS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line][1:]
NAMED = sorted(set(re.findall(r"`(tests/[^`]+\.py(?:::\w+)?)`", PAGE)))


def is_there(name: str) -> bool:
    file, _, test = name.partition("::")
    if not (ROOT / file).is_file():
        return False
    return not test or test in functions_of(ROOT / file)


@cache
def functions_of(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_each_default_has_its_test() -> None:
    assert len(ROWS) > 10
    for row in ROWS:
        assert re.fullmatch(r"\| .+ \| .+ \| `tests/[^`]+::test_\w+` \|", row), row


@pytest.mark.parametrize("name", NAMED)
def test_each_test_that_the_page_names_is_there(name: str) -> None:
    assert is_there(name)


def test_each_attack_of_the_table_is_there() -> None:
    items = {item for attack in ATTACKS for item in attack.item.split()}
    assert items == {str(number) for number in range(1, 24)}
    for attack in ATTACKS:
        assert all(is_there(f"tests/{test}") for test in attack.tests), attack
