"""Spoor as tools for agents, by the Model Context Protocol (extra `mcp`)."""

from spoor.integrations.mcp.crawls import AgentCrawls, AgentLimits

__all__ = ["AgentCrawls", "AgentLimits"]
