"""Three nodes of Restate that keep everything twice, and a balancer before them."""

import json
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
from tests.engines.balancer import Balancer
from tests.engines.restate_server import RestateServer
from tests.local_server import free_port

NODES, COPIES = 3, 2


class RestateCluster:
    """From `with` to the end of it. Any of its nodes may be stopped and started again."""

    def __init__(self, program: Path) -> None:
        self.nodes = [RestateServer(program, f"n{number}") for number in range(NODES)]
        self._ingress = Balancer([node.ingress for node in self.nodes])
        self._admin = Balancer([node.admin for node in self.nodes])
        self._stack = ExitStack()

    @property
    def options(self) -> dict[str, str]:
        """What a worker is told of it."""
        return {
            "kind": "restate",
            "address": f"http://127.0.0.1:{self._ingress.port}",
            "admin": f"http://127.0.0.1:{self._admin.port}",
            "listen": f"127.0.0.1:{free_port()}",
        }

    def __enter__(self) -> Self:
        fabric = [f"http://127.0.0.1:{node.port}" for node in self.nodes]
        for number, node in enumerate(self.nodes):
            node.settings |= {
                "RESTATE_CLUSTER_NAME": "adjourn",
                "RESTATE_AUTO_PROVISION": json.dumps(number == 0),
                "RESTATE_DEFAULT_REPLICATION": str(COPIES),
                "RESTATE_METADATA_CLIENT__ADDRESSES": json.dumps(fabric),
                "RESTATE_ADVERTISED_ADDRESS": fabric[number],
                "RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE": "128MB",
            }
            node.launch()
        for node in self.nodes:
            node.wait()
        self._stack.enter_context(self._ingress)
        self._stack.enter_context(self._admin)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()
        for node in self.nodes:
            node.__exit__(kind, error, at)

    def alive(self) -> int:
        """How many nodes answer."""
        return sum(_answers(node) for node in self.nodes)


def _answers(node: RestateServer) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{node.ingress}/restate/health", trust_env=False).is_success
    except httpx.HTTPError:
        return False
