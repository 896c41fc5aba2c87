"""Spoor as tools for agents, by the Model Context Protocol (extra `mcp`)."""

from spoor.integrations.mcp.crawls import AgentCrawls, AgentLimits
from spoor.integrations.mcp.server import make_server

__all__ = ["AgentCrawls", "AgentLimits", "make_server"]
