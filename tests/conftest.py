"""The order of tests: the long files first, so that no process waits for another's at the end."""

from __future__ import annotations

import pytest

LONG = ("test_docs.py", "test_shards.py", "test_policies.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG and "e2e" not in item.path.parts)
