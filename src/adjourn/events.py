"""What `run.watch()` and `agent.stream()` give: records as they are appended, and what is live."""

from adjourn.driver.watch import Event, Published, Recorded, TextArrived, ToolCallApprovalRequired
from adjourn.runtime.local import Handle

__all__ = ["Event", "Handle", "Published", "Recorded", "TextArrived", "ToolCallApprovalRequired"]
