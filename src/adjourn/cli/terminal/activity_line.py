"""What a run does now, in words."""

from adjourn.core.status import RunStatus
from adjourn.views.run_view import RunView
from adjourn.views.words import ActivityVerb, interrupt_title


def activity_line(view: RunView) -> str:
    """What a run does or waits for, on one line; names are as they were recorded."""
    now, tools = view.now, ", ".join(view.now.tools)
    match now.verb:
        case ActivityVerb.WAITING | ActivityVerb.SLEEPING:
            return _waiting(view)
        case ActivityVerb.CALLING_MODEL:
            return "model"
        case ActivityVerb.RUNNING:
            return tools
        case ActivityVerb.FINISHING:
            return f"finishing {tools or 'the model call'}"
        case ActivityVerb.UNDOING:
            return f"undoing {tools or 'what was done'}"
        case ActivityVerb.HELD:
            return f"halted {now.scope}: {now.reason}"
        case ActivityVerb.QUEUED:
            return now.reason or "waits for a worker"
        case ActivityVerb.UNFIT:
            return f"no worker fits: {now.reason}"
        case ActivityVerb.PAUSED:
            return _by(now.by, now.reason)
        case ActivityVerb.ENDED:
            return _ended(view)


def _waiting(view: RunView) -> str:
    now = view.now
    if not now.kind:
        if view.wake_at:
            return "a timer"
        return ""
    text = now.text or interrupt_title(now.kind, now.type, "".join(now.tools[:1]))
    if now.more:
        return f"{text}, and {now.more} more"
    return text


def _ended(view: RunView) -> str:
    now = view.now
    if view.erased_at:
        return f"erased {_by(now.by, now.reason)}"
    if view.status == RunStatus.CANCELLED:
        if now.more:
            return f"{now.more} not undone"
        return "no residue"
    if view.status == RunStatus.STOPPED:
        return f"by {now.reason}"
    return now.text


def _by(by: str, reason: str) -> str:
    return f"by {by or 'an unknown person'}" + (f": {reason}" if reason else "")
