"""The image, the compose file and the chart: they start commands that exist, as an ordinary user, on a file system that is read-only."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from tests.deploy.chart import Template, rendered, value
from tests.deploy.programs import run
from typer._click.exceptions import UsageError

from adjourn import Runtime
from adjourn.cli.command_table import app
from adjourn.runtime.health import HealthCheck
from adjourn.runtime.health_server import HealthServer, alive, readiness

FOLDER = Path(__file__).parents[2] / "deploy"
DOCKERFILE = FOLDER / "container" / "Dockerfile"
COMPOSE = FOLDER / "container" / "compose.yaml"
CHART = FOLDER / "helm" / "adjourn"


def understood(words: list[str]) -> None:
    """Whether the command line knows a command with these options. Raises what it would say."""
    command: Any = typer.main.get_command(app)
    words = [word.replace("${ORIGIN:?set it in .env}", "https://ops.example.com") for word in words]
    while hasattr(command, "get_command"):
        context = command.make_context("adjourn", [words[0]], resilient_parsing=True)
        command, words = command.get_command(context, words[0]), words[1:]
        assert command is not None
    command.make_context(command.name, words)


@pytest.mark.parametrize("words", [["worker", "app.py:a", "--nonsense"], ["nonsense"], ["worker"]])
def test_a_command_that_does_not_exist_is_not_understood(words: list[str]) -> None:
    with pytest.raises((AssertionError, UsageError)):
        understood(words)


def test_hadolint_finds_nothing_wrong_with_the_image() -> None:
    assert run("hadolint", str(DOCKERFILE)) == ""


def instruction(name: str) -> str:
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text("utf-8"))
    return re.findall(rf"^{name} (.+)$", text, re.MULTILINE)[-1]


def test_the_image_starts_a_server_as_an_ordinary_user() -> None:
    assert instruction("USER") == "10001:10001"
    assert json.loads(instruction("ENTRYPOINT")) == ["adjourn"]
    understood(json.loads(instruction("CMD")))


@pytest.mark.anyio
async def test_the_health_check_of_the_image_says_whether_a_process_is_ready() -> None:
    command = json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])

    async def check(port: int) -> int:
        environment = {**os.environ, "HEALTH_PORT": str(port)}
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command[1:], env=environment, stderr=asyncio.subprocess.DEVNULL
        )
        async with asyncio.timeout(60):
            return await process.wait()

    runtime = Runtime("memory://")
    pages = {"/healthz": alive, "/readyz": readiness(HealthCheck(runtime))}
    server = HealthServer(pages, "127.0.0.1", 0)
    await server.open()
    try:
        assert await check(server.port) == 1
        async with runtime:
            pages["/readyz"] = readiness(HealthCheck(runtime))  # it remembers no answer of before
            assert await check(server.port) == 0
    finally:
        server.close()


def test_what_the_compose_file_starts_is_understood_and_closed_in() -> None:
    services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
    ours = {name: service for name, service in services.items() if service["image"] == "adjourn"}
    assert ours.keys() == {"schema", "server", "worker"}
    for service in ours.values():
        understood(service["command"])
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()
    grace = services["worker"]["command"].index("--grace") + 1
    assert int(services["worker"]["stop_grace_period"].rstrip("s")) >= int(services["worker"]["command"][grace]) + 10


def containers(made: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Every container of a chart's objects, with its pod."""
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for thing in made:
        pod = thing.get("spec", {}).get("template", {}).get("spec", {})
        found += [(container, pod) for container in pod.get("containers", ())]
    return found


def test_what_the_chart_starts_is_understood_and_closed_in() -> None:
    made = rendered(CHART)
    assert [thing["kind"] for thing in made] == ["Job", "Deployment", "Service", "PodDisruptionBudget", "Deployment"]
    found = containers(made)
    assert len(found) == 3
    for container, pod in found:
        understood(container["args"])
        assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
        inside = container["securityContext"]
        assert inside["readOnlyRootFilesystem"] and inside["capabilities"] == {"drop": ["ALL"]}
        assert container["envFrom"] == [{"secretRef": {"name": "adjourn"}}]


def test_each_kind_of_worker_is_a_deployment_that_may_hand_its_runs_back() -> None:
    [given] = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))["workers"]
    made = rendered(CHART, workers=[given, {**given, "name": "gpu", "replicas": 1, "program": 'a"b.py:agent'}])
    workers = [thing for thing in made if "-worker-" in thing["metadata"]["name"]]
    assert [thing["metadata"]["name"] for thing in workers] == ["shop-worker-default", "shop-worker-gpu"]
    for thing in workers:
        pod = thing["spec"]["template"]
        [container] = pod["spec"]["containers"]
        grace = int(container["args"][container["args"].index("--grace") + 1])
        assert pod["spec"]["terminationGracePeriodSeconds"] >= grace + 10
        assert container["resources"]["limits"] == {"memory": "2Gi"}
        assert thing["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert containers(workers)[1][0]["args"][1] == 'a"b.py:agent'


def test_prometheus_finds_servers_and_workers_where_its_operator_is() -> None:
    made = rendered(CHART, serviceMonitor={"enabled": True, "keySecretName": "key"})
    [server] = [thing for thing in made if thing["kind"] == "ServiceMonitor"]
    [pods] = [thing for thing in made if thing["kind"] == "PodMonitor"]
    [service] = [thing for thing in made if thing["kind"] == "Service"]
    assert server["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    [worker] = [thing for thing in made if "-worker-" in thing["metadata"]["name"]]
    labels = worker["spec"]["template"]["metadata"]["labels"]
    assert pods["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_the_renderer_knows_what_helm_does_with_white_space_and_blocks() -> None:
    root = {"Values": {"a": {"b": 1}, "on": False, "list": [{"n": "x"}, {"n": "y"}]}, "Release": {"Name": "r"}}
    text = (
        "a: {{ .Values.a.b }}\n{{- if .Values.on }}\nb: 1\n{{- end }}\n"
        "{{- range .Values.list }}\n- {{ .n }}{{ $.Release.Name }}\n{{- end }}\n"
    )
    assert Template(text).render(root) == "a: 1\n- xr\n- yr\n"
    assert value("toYaml .Values.a | nindent 2", root, root) == "\n  b: 1"
    with pytest.raises(AssertionError, match="not known"):
        value(".Values.a | upper", root, root)
