"""The Model Context Protocol: the tools of its servers for our agents."""

from adjourn.mcp.mcp_tools import McpTools, mcp_tools

__all__ = ["McpTools", "mcp_tools"]
