"""The protocol's own conformance kit, over our server and our client: `make conformance`.

Every scenario of the kit is run, at each of our two versions of the protocol, or listed here with the reason why not. It ends with
exit code 1 if one fails, or is not spoken of here; and it writes the page of the documentation.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGES = Path(__file__).parent / "node_modules" / "@modelcontextprotocol"
KIT, INSPECTOR = PACKAGES / "conformance", PACKAGES / "inspector"
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "mcp-conformance.md"
VERSIONS = ("2025-11-25", "2026-07-28")
APART = {
    "server": {
        r"resources-.*|sep-2164-.*": "our server has no resources",
        r"prompts-.*": "our server has no prompts",
        r"completion-.*": "there is nothing to complete: a tool has one argument, `input`",
        r"json-schema-2020-12|http-custom-header-server-validation": "wants a tool with a schema of its own; ours have `input`",
        r"tools-call-(image|audio|embedded-resource|mixed-content)": "a result is the output of a run: text and structured content",
        r"logging-.*|tools-call-with-(logging|progress)": "a run's events are in the console and in its stream, not in the call",
        r"tools-call-sampling|input-required-result-(basic-(sampling|list-roots)|multiple-.*)": "our server asks only people",
        r"input-required-result-non-tool-request": "wants a prompt that asks",
        r"server-sse-polling": "wants a server that hangs up inside a call; ours says that the run waits",
        r"tasks-.*|sep-2640-.*": "an extension that ours does not have",
    },
    "client": {
        r"auth/.*": "authorization is the SDK's own; headers are given to `mcp_tools`",
        r"sep-2640-.*": "an extension that ours does not have",
    },
}
"""Scenarios that are not run, and why."""
PARTLY = {
    "server-stateless": "wants tools for diagnosis, which need sampling and logging",
    "caching": "wants prompts and resources, which our server does not have; what it has passes",
    "input-required-result-capability-check": "wants a tool that asks for sampling; ours asks people, or says that it waits",
    "elicitation-sep1034-client-defaults": "a client of ours answers such a server when a person has, in a second call",
}
"""Scenarios of which not everything passes, and why."""
INSPECTED = {
    ("tools/list",): (0, '"name": "test_simple_text"'),
    ("tools/call", "test_simple_text"): (0, "This is a simple text response for testing."),
    ("tools/call", "test_error_handling"): (5, '"status": "failed"'),
    ("tools/call", "test_elicitation"): (0, "it waits for a person"),
}
"""What the inspector is asked for; its exit code (5: the tool's result is an error), and what it shows."""
LIMIT = 120


class Scenario(NamedTuple):
    side: str
    name: str
    versions: tuple[str, ...]

    @property
    def why_not(self) -> str:
        """Why it is not run; "" if it is."""
        return next((why for names, why in APART[self.side].items() if re.fullmatch(names, self.name)), "")


class Result(NamedTuple):
    passes: bool
    counted: str


def scenarios(listed: str) -> Iterator[Scenario]:
    """Those of the kit, as it lists them."""
    side = ""
    for line in listed.splitlines():
        if heading := re.match(r"(Server|Client|\w[\w ]*) scenarios", line):
            side = heading[1].lower()
        elif side in APART and (found := re.match(r"  - (\S+) \[(.*)\]", line)):
            yield Scenario(side, found[1], tuple(one for one in VERSIONS if one in found[2].split(",")))


def tried(node: str, scenario: Scenario, version: str, *how: str) -> Result:
    """Run one and say how it went."""
    options = ["--scenario", scenario.name, "--spec-version", version, "--timeout", str(LIMIT * 1000)]
    done = subprocess.run(
        [node, str(KIT / "dist" / "index.js"), scenario.side, *how, *options],
        capture_output=True, text=True, timeout=2 * LIMIT, check=False,
    )  # fmt: skip
    counted = re.findall(r"Passed: (\d+/\d+)", done.stdout + done.stderr)
    result = Result(done.returncode == 0, counted[-1] if counted else "0")
    word = "ok  " if result.passes else "FAIL"
    print(f"{word} {scenario.side} {version} {scenario.name:<46} {result.counted}", flush=True)
    return result


def inspected(node: str, url: str) -> list[str]:
    """What the inspector, on its command line, did not show as it should."""
    wrong: list[str] = []
    for (method, *tool), (code, said) in INSPECTED.items():
        options = [option for name in tool for option in ("--tool-name", name, "--tool-arg", "input=x")]
        done = subprocess.run(
            [node, str(INSPECTOR / "clients" / "launcher" / "build" / "index.js"), "--cli", url, "--method", method, *options],
            capture_output=True, text=True, timeout=LIMIT, check=False,
        )  # fmt: skip
        is_right = done.returncode == code and said in done.stdout
        print(f"{'ok  ' if is_right else 'FAIL'} inspector {' '.join((method, *tool))}", flush=True)
        if not is_right:
            wrong.append(f"inspector: {method} {tool}: {done.returncode} {done.stdout} {done.stderr}")
    return wrong


def version_of(package: Path) -> str:
    return re.findall(r'"version": "(.*)"', (package / "package.json").read_text("utf-8"))[0]


def page(results: dict[Scenario, dict[str, Result]], apart: list[Scenario]) -> str:
    """The page of the documentation."""
    every = [result for found in results.values() for result in found.values()]
    passing = sum(result.passes for result in every)
    lines = [
        "# MCP conformance",
        "",
        f"Written by `make conformance`: the protocol's own kit ({version_of(KIT)}) over our server and our client,",
        "each scenario at those of our two versions of the protocol that it is for.",
        "",
        f"**{passing} of {len(every)} pass**; these do not in every check:",
        "",
        "| scenario | why |",
        "|---|---|",
        *(f"| {name} | {why} |" for name, why in PARTLY.items()),
        "",
        f"| side | scenario | {' | '.join(VERSIONS)} |",
        "|---|---|---|---|",
    ]
    for scenario, found in results.items():
        counts = [found[version].counted if version in found else "" for version in VERSIONS]
        lines.append(f"| {scenario.side} | {scenario.name} | {' | '.join(counts)} |")
    lines += ["", "## Not run", "", "| side | scenarios | why |", "|---|---|---|"]
    for side, reasons in APART.items():
        for why in reasons.values():
            names = [one.name for one in apart if one.side == side and one.why_not == why]
            lines.append(f"| {side} | {', '.join(names)} | {why} |")
    asked = ", ".join(f"`{' '.join(one)}`" for one in INSPECTED)
    lines += [
        "",
        "## Inspector",
        "",
        f"`@modelcontextprotocol/inspector` {version_of(INSPECTOR)} on its command line shows what it should of {asked}.",
    ]
    return "\n".join(lines) + "\n"


def main(node: str) -> int:
    kit = str(KIT / "dist" / "index.js")
    listed = subprocess.run([node, kit, "list"], capture_output=True, text=True, timeout=LIMIT, check=True).stdout
    every = [*scenarios(listed)]
    results: dict[Scenario, dict[str, Result]] = {}
    server = subprocess.Popen([sys.executable, "-m", "tests.mcp.conformance.served"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        wrong = inspected(node, url)
        how = {
            "server": ("--url", url),
            "client": ("--command", f"{sys.executable} -m tests.mcp.conformance.caller"),
        }
        for scenario in every:
            if not scenario.why_not:
                results[scenario] = {one: tried(node, scenario, one, *how[scenario.side]) for one in scenario.versions}
    finally:
        server.terminate()
        server.communicate()
    PAGE.write_text(page(results, [one for one in every if one.why_not]), "utf-8")
    failed = {one.name for one, found in results.items() if not all(result.passes for result in found.values())}
    for name in sorted(failed):
        print(f"{name}: {PARTLY.get(name, 'not expected')}")
    for name in sorted({*PARTLY} - failed):
        print(f"{name}: passes now; take it out of PARTLY")
    print(*wrong, sep="\n")
    return int(bool(wrong) or failed != {*PARTLY})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
