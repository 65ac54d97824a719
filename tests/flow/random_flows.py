"""Random flows: a shape, the flow that is built from it, and what a plain recursive function makes of the same shape.

A shape is nested tuples. Chunks note what they were given, so that not only the result but everything that ran is compared.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hypothesis import strategies as st

from adjourn import Flow, FlowContext, Interrupt
from adjourn.flow.builder import Chain

Shape = tuple[Any, ...]
"""A list of nodes, each `(kind, …)`."""


def mix(*parts: Any) -> str:
    """A short text that depends on everything that went into it."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:6]


def parity(name: str, value: Any) -> int:
    return int(mix(name, value), 16)


def answer_to(payload: Any) -> str:
    """What a person says to a question."""
    return mix("answer", payload)


# Shapes


def shapes(depth: int = 3) -> st.SearchStrategy[tuple[Any, ...]]:
    """The chains of a flow: one or two that begin with it, those of its events `a` and `b`, and one for where the first meet."""
    handler = chains(min(depth, 1), emits=False)
    roots = st.lists(chains(depth), min_size=1, max_size=2).map(tuple)
    return st.tuples(roots, handler, handler, st.none() | handler)


def chains(depth: int, emits: bool = True) -> st.SearchStrategy[Shape]:
    leaves: list[st.SearchStrategy[Any]] = [
        st.sampled_from(["step", "thread", "ask", "self", "twice", "fail", "nap"]).map(lambda kind: (kind,)),
    ]
    if emits:
        leaves.append(st.sampled_from(["a", "b"]).map(lambda event: ("emit", event)))
        leaves.append(st.sampled_from(["a", "b"]).map(lambda event: ("wait", event)))
    nodes = st.one_of(leaves)
    if depth:
        inner = chains(depth - 1, emits)
        nodes = st.one_of(
            nodes,
            st.lists(inner, min_size=1, max_size=3).map(lambda branches: ("batch", *branches)),
            st.tuples(st.just("each"), st.integers(0, 3), st.integers(0, 2), inner),
            st.tuples(st.just("if"), inner, inner),
            st.tuples(st.just("match"), inner, inner),
            st.tuples(st.just("side"), inner),
            st.tuples(st.just("sub"), shapes(0) if depth == 1 else shapes(1)),
        )
    return st.lists(nodes, min_size=0 if depth < 3 else 1, max_size=3).map(tuple)


# The flow


@dataclass
class Built:
    """A flow made from a shape, and everything that its chunks did."""

    shape: tuple[Any, ...]
    ran: Counter[str] = field(default_factory=Counter[str])
    failed: set[str] = field(default_factory=set[str])
    names: Any = field(default_factory=count)
    flow: Flow = field(init=False)

    def __post_init__(self) -> None:
        self.flow = self._flow("root", self.shape)

    def again(self) -> "Built":
        """The same flow, as another process would build it; what was done is done."""
        return Built(self.shape, self.ran, self.failed)

    def _flow(self, name: str, shape: tuple[Any, ...]) -> Flow:
        flow = Flow(name)
        roots, *handlers, meeting = shape
        for n, root in enumerate(roots):
            end = self._whole(flow, flow.to, root)
            if meeting is not None:
                end.collect("meeting", f"r{n}")
        for event, handler in zip("ab", handlers, strict=True):
            # What waits has events of its own: an `emit` answers everything that waits for it, in whatever order.
            self._whole(flow, flow.when(event, f"awaited {event}").to, handler)
        if meeting is not None:
            self._whole(flow, flow.collected("meeting").to, meeting)
        return flow

    def _whole(self, flow: Flow, to: Callable[[Any], Chain], shape: Shape) -> Chain:
        chain = self._chain(flow, to(self._chunk(flow, "begin", self._begin)), shape)
        return chain.to(self._chunk(flow, "end", self._end))

    def _chunk(self, flow: Flow, kind: str, body: Callable[[FlowContext, str], Any]) -> Any:
        name = f"{kind}{next(self.names)}"

        async def chunk(ctx: FlowContext) -> Any:
            return body(ctx, name)

        def threaded(ctx: FlowContext) -> Any:
            return body(ctx, name)

        async def sleeping(ctx: FlowContext) -> Any:
            await ctx.sleep(1)
            return body(ctx, name)

        effect: Any = ("read", "idempotent", "unsafe")[len(name) % 3]
        return flow.chunk(name=name, effect=effect)({"thread": threaded, "nap": sleeping}.get(kind, chunk))

    def _note(self, name: str, value: Any) -> None:
        self.ran[f"{name} {json.dumps(value)}"] += 1

    def _begin(self, ctx: FlowContext, name: str) -> Any:
        self._note(name, ctx.input)
        return ctx.input

    def _end(self, ctx: FlowContext, name: str) -> Any:
        self._note(name, ctx.input)
        ctx.state.setdefault("ends", []).append([name, ctx.input])
        return ctx.input

    def _step(self, ctx: FlowContext, name: str) -> Any:
        self._note(name, ctx.input)
        return mix(name, ctx.input)

    def _fail(self, ctx: FlowContext, name: str) -> Any:
        if ctx.call_id not in self.failed:
            self.failed.add(ctx.call_id)
            raise ValueError("the first time")
        return self._step(ctx, name)

    def _ask(self, ctx: FlowContext, name: str) -> Any:
        self._note(name, ctx.input)
        ctx.pause_for("ask", {"name": name, "input": ctx.input})

    def _self(self, ctx: FlowContext, name: str) -> Any:
        answer = ctx.pause_for("self", {"name": name, "input": ctx.input}, resume_to="self")
        self._note(name, ctx.input)
        return mix(name, ctx.input, answer)

    def _twice(self, ctx: FlowContext, name: str) -> Any:
        one = ctx.pause_for("twice", {"name": name, "input": ctx.input, "n": 1}, resume_to="self")
        two = ctx.pause_for("twice", {"name": name, "input": ctx.input, "n": 2}, resume_to="self")
        self._note(name, ctx.input)
        return mix(name, ctx.input, one, two)

    def _wait(self, event: str) -> Callable[[FlowContext, str], Any]:
        def wait(ctx: FlowContext, name: str) -> Any:
            self._note(name, ctx.input)
            ctx.pause_for("wait", {"name": name, "input": ctx.input}, resume_event=f"awaited {event}")

        return wait

    def _chain(self, flow: Flow, chain: Chain, shape: Shape) -> Chain:
        for node in shape:
            chain = self._node(flow, chain, node)
        return chain

    def _node(self, flow: Flow, chain: Chain, node: Any) -> Chain:
        match node:
            case ("emit", event):
                return chain.emit(event)
            case ("wait", event):
                return chain.to(self._chunk(flow, "wait", self._wait(event)))
            case ("batch", *branches):
                made = [(f"b{n}", self._chain(flow, flow.branch(), b)) for n, b in enumerate(branches)]
                return chain.batch(*made)
            case ("each", width, concurrency, inner):
                spread = self._chunk(flow, "spread", lambda ctx, name: [mix(name, ctx.input, n) for n in range(width)])
                return self._chain(flow, chain.to(spread).for_each(concurrency), inner).end_for_each()
            case ("if", yes, no):
                name = f"even{next(self.names)}"
                test = flow.chunk(name=name, effect="read")(lambda ctx: parity(name, ctx.input) % 2 == 0)
                return self._chain(flow, self._chain(flow, chain.if_(test), yes).else_(), no).end_if()
            case ("match", one, other):
                name = f"key{next(self.names)}"
                key = flow.chunk(name=name, effect="read")(lambda ctx: parity(name, ctx.input) % 3)
                opened = self._chain(flow, chain.match(key).case(1), one).case(2)
                return self._chain(flow, opened, other).end_match()
            case ("side", inner):
                branch = self._chain(flow, flow.branch(), inner).to(self._chunk(flow, "end", self._end))
                return chain.side(branch)
            case ("sub", shape):
                return chain.to(self._flow(f"sub{next(self.names)}", shape))
            case (kind,):
                body: dict[str, Any] = {"step": self._step, "thread": self._step, "nap": self._step, "ask": self._ask,
                    "self": self._self, "twice": self._twice, "fail": self._fail}  # fmt: skip
                return chain.to(self._chunk(flow, kind, body[kind]))
            case _:
                raise AssertionError(node)


# The plain evaluation


class Ended(Exception):
    """A chain ended in an event."""


class Plain:
    """The same, by plain recursion: no runs, no pauses, no order."""

    def __init__(self, shape: tuple[Any, ...], value: Any) -> None:
        self.ran: Counter[str] = Counter()
        self.names = count()
        self.state: list[Any] = []
        self._flow(self._named(shape), value, self.state)

    def _named(self, shape: tuple[Any, ...]) -> Any:
        """The shape with the names that building it gives, in the same order."""
        roots, *handlers, meeting = shape
        chains = [self._whole_named(root) for root in roots]
        handled = [self._whole_named(handler) for handler in handlers]
        return chains, dict(zip("ab", handled, strict=True)), None if meeting is None else self._whole_named(meeting)

    def _whole_named(self, shape: Shape) -> Any:
        return f"begin{next(self.names)}", self._names(shape), f"end{next(self.names)}"

    def _names(self, shape: Shape) -> list[Any]:
        return [self._name(node) for node in shape]

    def _name(self, node: Any) -> Any:
        match node:
            case ("emit", _):
                return node
            case ("wait", event):
                return ("wait", f"wait{next(self.names)}", event)
            case ("batch", *branches):
                return ("batch", [self._names(b) for b in branches])
            case ("each", width, _, inner):
                return ("each", f"spread{next(self.names)}", width, self._names(inner))
            case ("if", yes, no):
                return ("if", f"even{next(self.names)}", self._names(yes), self._names(no))
            case ("match", one, other):
                return ("match", f"key{next(self.names)}", self._names(one), self._names(other))
            case ("side", inner):
                return ("side", self._names(inner), f"end{next(self.names)}")
            case ("sub", shape):
                # A flow is named after it is placed in the chain, and its chunks after that.
                next(self.names)
                return ("sub", self._named(shape))
            case (kind,):
                return (kind, f"{kind}{next(self.names)}")
            case _:
                raise AssertionError(node)

    def _note(self, name: str, value: Any) -> None:
        self.ran[f"{name} {json.dumps(value)}"] += 1

    def _flow(self, named: Any, value: Any, state: list[Any]) -> Any:
        chains, handlers, meeting = named
        scope = (handlers, state)
        came: dict[str, Any] = {}
        for n, chain in enumerate(chains):
            try:
                came[f"r{n}"] = self._to_the_end(chain, value, scope)
            except Ended:
                pass
        if meeting is not None and len(came) == len(chains):
            self._whole(meeting, came, scope)
        return came.get("r0")

    def _whole(self, chain: Any, value: Any, scope: Any) -> None:
        try:
            self._to_the_end(chain, value, scope)
        except Ended:
            pass

    def _to_the_end(self, chain: Any, value: Any, scope: Any) -> Any:
        begin, nodes, end = chain
        self._note(begin, value)
        return self._ends(end, self._run(nodes, value, scope), scope)

    def _ends(self, end: str, value: Any, scope: Any) -> Any:
        self._note(end, value)
        scope[1].append([end, value])
        return value

    def _run(self, nodes: list[Any], value: Any, scope: Any) -> Any:
        for node in nodes:
            value = self._node(node, value, scope)
        return value

    def _part(self, nodes: list[Any], value: Any, scope: Any) -> Any:
        try:
            return self._run(nodes, value, scope)
        except Ended:
            return None

    def _node(self, node: Any, value: Any, scope: Any) -> Any:
        match node:
            case ("emit", event):
                self._whole(scope[0][event], value, scope)
            case ("wait", name, event):
                self._note(name, value)
                self._whole(scope[0][event], answer_to({"name": name, "input": value}), scope)
                raise Ended
            case ("batch", branches):
                return {f"b{n}": self._part(b, value, scope) for n, b in enumerate(branches)}
            case ("each", name, width, inner):
                return [self._part(inner, mix(name, value, n), scope) for n in range(width)]
            case ("if", name, yes, no):
                return self._run(yes if parity(name, value) % 2 == 0 else no, value, scope)
            case ("match", name, one, other):
                return self._run({1: one, 2: other}.get(parity(name, value) % 3, []), value, scope)
            case ("side", inner, end):
                try:
                    self._ends(end, self._run(inner, value, scope), scope)
                except Ended:
                    pass
            case ("sub", named):
                return self._flow(named, value, [])
            case (kind, name):
                self._note(name, value)
                return self._leaf(kind, name, value)
            case _:
                raise AssertionError(node)
        return value

    def _leaf(self, kind: str, name: str, value: Any) -> Any:
        asked: dict[str, Any] = {"name": name, "input": value}
        if kind == "ask":
            return answer_to(asked)
        if kind == "self":
            return mix(name, value, answer_to(asked))
        if kind == "twice":
            return mix(name, value, answer_to({**asked, "n": 1}), answer_to({**asked, "n": 2}))
        return mix(name, value)


def said(interrupt: Interrupt) -> Any:
    """The answer to whatever is open."""
    return "retry" if interrupt.kind == "error" else answer_to(interrupt.payload)
