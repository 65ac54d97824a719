"""What `run.watch()` and `agent.stream()` give: records as they are appended, and what is live."""

from adjourn.driver.watch import Event, Published, Recorded, TextArrived, ToolCallApprovalRequired
from adjourn.runtime.stream import RunStream

__all__ = ["Event", "Published", "Recorded", "RunStream", "TextArrived", "ToolCallApprovalRequired"]
