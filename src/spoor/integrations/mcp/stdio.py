"""The MCP server at this process's standard input and output."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from spoor.integrations.mcp.messages import MOST_BYTES, fault_of

_PIECE = 1 << 16


def serve(server: MCPServer[Any], end: Callable[[], object]) -> None:
    """Serve it until its client closes the pipe or goes away, or a signal ends it; then call `end`,
    before it is waited for the threads of its calls."""
    try:
        asyncio.run(_serve(server, end))
    except* BrokenPipeError:
        pass  # the client has gone


async def _serve(server: MCPServer[Any], end: Callable[[], object]) -> None:
    # What the package itself reads with holds up whoever ends the process, until a line comes; and
    # what it writes with fails once more as Python ends, where the client has gone.
    lines: Any = _messages(_lines(_taken_input()), lambda error: answers.send(error))
    output = os.fdopen(_taken_output(), "w", encoding="utf-8")
    lowlevel = server._lowlevel_server
    try:
        async with stdio_server(lines, anyio.wrap_file(output)) as (requests, answers):
            await lowlevel.run(requests, answers, lowlevel.create_initialization_options())
    finally:
        end()
        with suppress(OSError):
            output.close()


async def _messages(
    lines: AsyncIterator[str], answer: Callable[[SessionMessage], Awaitable[None]]
) -> AsyncIterator[str]:
    """The lines that are messages; `answer` is given an error for each other line, which the
    package drops without a word."""
    async for line in lines:
        fault = fault_of(line)
        if fault is None:
            yield line
        elif line.strip():
            await answer(SessionMessage(fault))


def _taken_input() -> int:
    """A descriptor of the standard input, which is empty for all others from now on."""
    return _taken(0, os.open(os.devnull, os.O_RDONLY))


def _taken_output() -> int:
    """A descriptor of the standard output; what others write goes to the errors from now on."""
    return _taken(1, os.dup(2))


def _taken(descriptor: int, instead: int) -> int:
    own = os.dup(descriptor)
    os.dup2(instead, descriptor)
    os.close(instead)
    return own


async def _lines(descriptor: int) -> AsyncIterator[str]:
    """The lines that come by a descriptor. Read in a thread that ends with the process."""
    loop = asyncio.get_running_loop()
    pieces = asyncio.Queue[bytes]()
    room = threading.Semaphore()
    """For the next piece."""

    def read() -> None:
        piece = b"x"
        while piece:
            room.acquire()
            try:
                piece = os.read(descriptor, _PIECE)
            except OSError:
                piece = b""
            try:
                # No coroutine: Python warns of one that the loop does not begin any more.
                loop.call_soon_threadsafe(pieces.put_nowait, piece)
            except RuntimeError:  # the loop is closed
                return

    threading.Thread(target=read, name="spoor-stdin", daemon=True).start()
    line = bytearray()
    while piece := await pieces.get():
        room.release()
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield (line + end)[:MOST_BYTES].decode("utf-8", "replace")
            line.clear()
        line += rest[: MOST_BYTES - len(line)]
