"""A failure is a pause nobody wanted: the checkpoint is in the error, and resuming goes on at the step that failed.

python examples/resume_after_failure.py
"""

import asyncio

from adjourn import Agent, ModelError, RunFailed, can_resume, tool
from adjourn.testing import ScriptedModel, call

searched: list[str] = []


@tool(effect="read")
async def search(query: str) -> str:
    """Search the web."""
    searched.append(query)
    return f"three pages about {query}"


def make_agent() -> Agent:
    model = ScriptedModel(
        [call("search", query="suppliers in Norway")],
        ModelError("the provider is down", transient=True),  # the second model call fails ...
        "There are three suppliers in Norway.",  # ... and answers the next time
    )
    return Agent("research", model=model, tools=[search], retries=1)


async def main() -> None:
    try:
        await make_agent().run("find suppliers in Norway")
        raise AssertionError("the provider was down")
    except RunFailed as error:
        print("failed:", error)
        assert can_resume(error)  # an outage: yes; bad credentials: no
        assert error.checkpoint is not None
        saved = error.checkpoint.to_json()

    outcome = await make_agent().resume(saved)
    print("done:", outcome.output)
    assert outcome.output == "There are three suppliers in Norway."
    assert searched == ["suppliers in Norway"]  # what was done was not done again
    assert outcome.usage.requests == 2  # and what was spent is still counted


if __name__ == "__main__":
    asyncio.run(main())
