"""Tests of this folder need no server, but for those that say so by the marker `server`."""

from __future__ import annotations

import socket

import pytest


@pytest.fixture(autouse=True)
def no_server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("this test listens on a port; mark it with pytest.mark.server")

    if request.node.get_closest_marker("server") is None:
        monkeypatch.setattr(socket.socket, "listen", refuse)
