"""Adjourn: a durable, interruptible runtime for AI agents.

To adjourn: to break off with the intention of resuming later.
"""

from adjourn.agent.agent import Agent
from adjourn.agent.context import ToolContext, pause_for
from adjourn.agent.outcome import Cancelled, Completed, Outcome, Paused, Stopped, is_paused
from adjourn.agent.signature import Resource
from adjourn.agent.tool import Tool, ask_human, tool
from adjourn.core.decision import Decision
from adjourn.core.policy import Policy, Verdict, allow, ask, deny, eq, ge, gt, le, lt, matches, ne, one_of, under
from adjourn.core.stop import External, MaxCost, MaxSteps, MaxTime, MaxTokens, TextMention, ToolCalled
from adjourn.driver.checkpoint import Checkpoint
