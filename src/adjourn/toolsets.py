"""Tools that are found while a run goes on; see `Agent(tools=…)`."""

from adjourn.agent.toolset import Toolset, ToolsetContext

__all__ = ["Toolset", "ToolsetContext"]
