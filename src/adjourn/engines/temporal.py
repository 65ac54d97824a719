"""Temporal: a thin workflow for each run, woken by signal-with-start; an activity with a heartbeat
advances the run."""

import asyncio
import logging
import os
from datetime import timedelta
from typing import Any

import msgspec
from temporalio import activity
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    DescribeTaskQueueRequest,
    GetSystemInfoRequest,
)
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion, WorkflowIDConflictPolicy
from temporalio.envconfig import ClientConfig
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker, WorkerDeploymentConfig

from adjourn.engines.run_tasks import NotNow, RunTasks
from adjourn.engines.temporal_workflow import (
    ACTIVITY,
    ATTEMPT,
    HEARTBEAT,
    WAKE,
    WORKFLOW,
    RunWorkflow,
)
from adjourn.errors import EngineError, InvalidDefinition, Misused

log = logging.getLogger("adjourn.engines")

ADDRESS, QUEUE = "127.0.0.1:7233", "adjourn"
PATIENCE = 10.0
"""Seconds that the server has to answer."""
BEATS = 4
"""Heartbeats within the time after which a worker is taken for dead."""


class TemporalEngine:
    """Keeps wakes in Temporal.

    Namespace, TLS and API key are read as Temporal's own tools read them: `TEMPORAL_NAMESPACE`,
    `TEMPORAL_TLS`, `TEMPORAL_API_KEY` and the others, or its configuration file.

    Args:
        address: `HOST:PORT` of the server; without it, `TEMPORAL_ADDRESS`, else this machine.
        queue: the task queue, which is also the first part of the ids of its workflows: one for
            each store.
        build: the version of this worker, for Temporal's worker versioning; "": it takes tasks of
            every version.
    """

    name = "Temporal"

    def __init__(self, address: str = "", *, queue: str = QUEUE, build: str = "") -> None:
        self._config: Any = _settings()
        self._address = address or self._config.get("target_host") or ADDRESS
        self._queue, self._build = queue, build
        self._client: Client | None = None

    async def open(self) -> None:
        """See `Engine.open`."""
        config: dict[str, Any] = {**self._config, "target_host": self._address}
        try:
            async with asyncio.timeout(PATIENCE):
                self._client = await Client.connect(**config)
        except (RuntimeError, ValueError, OSError, TimeoutError) as e:
            raise EngineError(
                f"Temporal at {self._address} does not answer: {str(e) or type(e).__name__}",
                advice="start it, or give its address with --engine-address",
            ) from e

    @property
    def client(self) -> Client:
        """The connection."""
        if self._client is None:
            raise Misused("open the engine first")
        return self._client

    async def wake(self, run: str) -> None:
        """See `Engine.wake`."""
        await self.client.start_workflow(
            WORKFLOW,
            run,
            id=f"{self._queue}/{run}",
            task_queue=self._queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
            start_signal=WAKE,
            rpc_timeout=timedelta(seconds=PATIENCE),
        )

    async def serve(self, tasks: RunTasks, slots: int) -> None:
        """See `Engine.serve`."""

        @activity.defn(name=ACTIVITY)
        async def advance(run: str) -> dict[str, Any]:
            return await _advanced(tasks, run)

        async with Worker(
            self.client,
            task_queue=self._queue,
            workflows=[RunWorkflow],
            activities=[advance],
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_concurrent_activities=slots,
            max_heartbeat_throttle_interval=HEARTBEAT / BEATS,
            default_heartbeat_throttle_interval=HEARTBEAT / BEATS,
            identity=f"adjourn {os.getpid()}",
            deployment_config=self._deployment(),
        ):
            await asyncio.Event().wait()

    async def problems(self) -> list[tuple[str, str]]:
        """See `Engine.problems`."""
        service, patience = self.client.workflow_service, timedelta(seconds=PATIENCE)
        space = self.client.namespace
        queue = TaskQueue(name=self._queue)
        try:
            await service.describe_namespace(
                DescribeNamespaceRequest(namespace=space), timeout=patience
            )
            found = await service.describe_task_queue(
                DescribeTaskQueueRequest(namespace=space, task_queue=queue), timeout=patience
            )
        except RPCError as e:
            if e.status is RPCStatusCode.NOT_FOUND:
                advice = "create it, or name another in TEMPORAL_NAMESPACE"
                return [(f"Temporal has no namespace {space!r}", advice)]
            return [(f"Temporal refuses to answer: {e.message}", "check TEMPORAL_API_KEY and TLS")]
        if not found.pollers:
            text = f"no worker polls the task queue {self._queue!r} of {space!r}"
            return [(text, "start one: adjourn worker app.py:agent --engine temporal")]
        return []

    async def version(self) -> str:
        """See `Engine.version`."""
        try:
            found = await self.client.workflow_service.get_system_info(
                GetSystemInfoRequest(), timeout=timedelta(seconds=PATIENCE)
            )
        except RPCError:
            return ""
        return found.server_version

    async def close(self) -> None:
        """See `Engine.close`."""
        self._client = None

    def _deployment(self) -> WorkerDeploymentConfig | None:
        if not self._build:
            return None
        return WorkerDeploymentConfig(
            version=WorkerDeploymentVersion(deployment_name=self._queue, build_id=self._build),
            use_worker_versioning=True,
            default_versioning_behavior=VersioningBehavior.AUTO_UPGRADE,
        )


def _settings() -> Any:
    """What Temporal's own variables and file say."""
    try:
        return ClientConfig.load_client_connect_config()
    except (RuntimeError, ValueError, OSError) as e:
        raise InvalidDefinition(
            f"the settings of Temporal cannot be read: {e}".strip(),
            advice="correct its file (TEMPORAL_CONFIG_FILE) or its variables (TEMPORAL_…)",
        ) from e


async def _advanced(tasks: RunTasks, run: str) -> dict[str, Any]:
    """Advance a run, with a heartbeat beside it; a run that is not to be had now is an error, which
    Temporal retries."""
    beating = asyncio.create_task(_beat())
    try:
        return msgspec.to_builtins(await tasks.advance(run, ATTEMPT.total_seconds() / 2))
    except NotNow as refused:
        raise ApplicationError(
            str(refused), type="NotNow", next_retry_delay=timedelta(seconds=refused.after)
        ) from None
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)


async def _beat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(HEARTBEAT.total_seconds() / BEATS)
