"""Which messages reach the MCP server, and what the others are answered: the package drops some of
them without a word, and reads lists without end."""

from __future__ import annotations

import json
import re

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from spoor.bounded_json import MOST_VALUES, values_in

MOST_BYTES = 4 << 20
"""Of a message; the rest of a longer one is left out, and it is answered as none."""

_SIGNS = re.compile(
    r'"id"\s*:\s*(-?(?:0|[1-9][0-9]{0,14})(?![0-9.eE])|"[^"\\\x00-\x1f]{1,200}")'
    r'|"(?:[^"\\]|\\.)*+"?|[\[{]+|[\]}]+',
    re.DOTALL,
)
"""In JSON: a number or plain text named `id`, any other text, which may not end, and brackets."""


def fault_of(message: str) -> JSONRPCError | None:
    """The answer to what is no message, with its id where it has one; None for a message."""
    error = _error(message)
    return None if error is None else JSONRPCError(jsonrpc="2.0", id=_id_of(message), error=error)


def _error(message: str) -> ErrorData | None:
    if values_in(message.encode()) > MOST_VALUES:
        return ErrorData(
            code=INVALID_REQUEST, message=f"it has more than {MOST_VALUES:,} values of JSON"
        )
    try:
        read = jsonrpc_message_adapter.validate_json(message, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            return ErrorData(code=PARSE_ERROR, message=first["msg"])
        return ErrorData(code=INVALID_REQUEST, message="it is no message of JSON-RPC 2.0")
    # The package takes a request for a notification where its id is none.
    if isinstance(read, JSONRPCNotification) and "id" in json.loads(message):
        return ErrorData(code=INVALID_REQUEST, message="its id is neither an integer nor a text")
    return None


def _id_of(message: str) -> int | str | None:
    """The id of what cannot be read, where it has one: so its client waits no longer."""
    depth = 0
    for sign in _SIGNS.finditer(message):
        if sign[1] is not None and depth == 1:
            found: int | str = json.loads(sign[1])
            return found
        if sign[0][0] in "[{":
            depth += len(sign[0])
        elif sign[0][0] in "]}":
            depth -= len(sign[0])
    return None
