"""The MCP server at this process's standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from spoor.bounded_json import MOST_VALUES, values_in

MOST_OF_A_LINE = 4 << 20
"""Bytes of a message; the rest of a longer one is left out, and it is answered as none."""

_PIECE = 1 << 16

_SIGNS = re.compile(
    r'"id"\s*:\s*(-?\d{1,15}(?![\d.eE])|"[^"\\]{1,200}")|"(?:[^"\\]|\\.)*+"|[\[{]+|[\]}]+'
)
"""In JSON: a number or plain text named `id`, any other text, and brackets."""


def serve(server: MCPServer[Any], end: Callable[[], object]) -> None:
    """Serve it until its client closes the pipe or goes away, or a signal ends it; then call `end`,
    before it is waited for the threads of its calls."""
    try:
        asyncio.run(_serve(server, end))
    except* BrokenPipeError:
        pass  # the client has gone


async def _serve(server: MCPServer[Any], end: Callable[[], object]) -> None:
    # What the package itself reads with holds up whoever ends the process, until a line comes.
    lines: Any = _messages(_lines(_taken_input()), lambda error: answers.send(error))
    lowlevel = server._lowlevel_server
    try:
        async with stdio_server(stdin=lines) as (requests, answers):
            await lowlevel.run(requests, answers, lowlevel.create_initialization_options())
    finally:
        end()


async def _messages(
    lines: AsyncIterator[str], answer: Callable[[SessionMessage], Awaitable[None]]
) -> AsyncIterator[str]:
    """The lines that are messages; `answer` is given an error for each other line, which the
    package drops without a word."""
    async for line in lines:
        error = _fault(line)
        if error is None:
            yield line
        elif line.strip():
            fault = JSONRPCError(jsonrpc="2.0", id=_id_of(line), error=error)
            await answer(SessionMessage(fault))


def _fault(line: str) -> ErrorData | None:
    """Why a line is no message."""
    if values_in(line.encode()) > MOST_VALUES:
        return ErrorData(
            code=INVALID_REQUEST, message=f"it has more than {MOST_VALUES:,} values of JSON"
        )
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            return ErrorData(code=PARSE_ERROR, message=first["msg"])
        return ErrorData(code=INVALID_REQUEST, message="it is no message of JSON-RPC 2.0")
    return None


def _id_of(line: str) -> int | str | None:
    """The id of a message that cannot be read, where it has one: so its client waits no longer."""
    depth = 0
    for sign in _SIGNS.finditer(line):
        if sign[1] is not None and depth == 1:
            found: int | str = json.loads(sign[1])
            return found
        if sign[0][0] in "[{":
            depth += len(sign[0])
        elif sign[0][0] in "]}":
            depth -= len(sign[0])
    return None


def _taken_input() -> int:
    """A descriptor of the standard input, which is empty for all others from now on."""
    own, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return own


async def _lines(descriptor: int) -> AsyncIterator[str]:
    """The lines that come by a descriptor. Read in a thread that ends with the process."""
    loop = asyncio.get_running_loop()
    pieces = asyncio.Queue[bytes](maxsize=1)

    def read() -> None:
        piece = b"x"
        while piece:
            try:
                piece = os.read(descriptor, _PIECE)
                asyncio.run_coroutine_threadsafe(pieces.put(piece), loop).result()
            except (OSError, RuntimeError):  # the loop is closed
                return

    threading.Thread(target=read, name="spoor-stdin", daemon=True).start()
    line = bytearray()
    while piece := await pieces.get():
        *ends, rest = piece.split(b"\n")
        for end in ends:
            yield (line + end)[:MOST_OF_A_LINE].decode("utf-8", "replace")
            line.clear()
        line += rest[: MOST_OF_A_LINE - len(line)]
