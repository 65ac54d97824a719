"""One reply, four calls, two of them gated: the free ones run at once, the questions wait, in any order of answers.

python examples/parallel_approvals.py
"""

import asyncio

from adjourn import Agent, Checkpoint, Decision, Policy, ask, gt, is_paused, tool
from adjourn.testing import ScriptedModel, call

ledger: list[str] = []


@tool(effect="read")
async def balance(account: str) -> int:
    """The balance of an account, in cents."""
    ledger.append(f"read {account}")
    return 10_000


@tool
async def transfer(account: str, cents: int) -> str:
    """Transfer money."""
    ledger.append(f"transfer {cents} to {account}")
    return f"transferred {cents} to {account}"


def make_agent() -> Agent:
    model = ScriptedModel(
        [
            call("balance", account="A"),
            call("transfer", account="B", cents=90_000),
            call("transfer", account="C", cents=500),
            call("transfer", account="D", cents=70_000),
        ],
        lambda messages: "; ".join(str(getattr(m, "content", "")) for m in messages[-4:]),
    )
    policy = Policy([ask("transfer", when={"cents": gt(10_000)}, reason="a large transfer")], default="allow")
    return Agent("payments", model=model, tools=[balance, transfer], policy=policy)


async def main() -> None:
    outcome = await make_agent().run("pay the bills")
    assert is_paused(outcome)
    assert ledger == ["read A", "transfer 500 to C"]
    saved = outcome.checkpoint.to_json()

    # Two people, two processes, the later question first. Each sees what is still open.
    first, second = [i.id for i in Checkpoint.from_json(saved).interrupts]
    half = await make_agent().resume(saved, answers={second: Decision.deny(note="call me")}, by="ada")
    assert is_paused(half)
    assert [i.id for i in half.interrupts] == [first]
    done = await make_agent().resume(half.checkpoint.to_json(), answers={first: Decision.approve()}, by="bob")

    # Every call has exactly one result, in the order of the calls; what ran before did not run again.
    print(done.output)
    assert done.output == (
        "10000; transferred 90000 to B; transferred 500 to C; denied by ada: call me. It was not run."
    )
    assert ledger == ["read A", "transfer 500 to C", "transfer 90000 to B"]


if __name__ == "__main__":
    asyncio.run(main())
