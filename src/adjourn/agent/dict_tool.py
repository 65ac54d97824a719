"""A tool with an explicit schema whose body takes all the arguments as one dict."""

import copy
from functools import cached_property
from typing import Any

from adjourn.agent.tool import Tool
from adjourn.bodies.tool_context import ToolContext


class DictTool(Tool):
    """A tool whose body takes the context and all the arguments as one dict, whatever they are
    called: the arguments are those of a framework or of a server, which chose their names."""

    @cached_property
    def resources(self) -> dict[str, str]:
        return {}

    def bind(
        self, args: dict[str, Any], context: ToolContext, values: dict[str, Any] | None = None
    ) -> tuple[list[Any], dict[str, Any]]:
        return [context, copy.deepcopy(args)], {}  # what was shown is not for a body to change
