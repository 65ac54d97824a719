"""What the package says about itself is true: its version, its extras, its classifiers, its notes."""

import ast
import importlib.util
import re
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
import yaml

import adjourn
from adjourn.models.pydantic_ai.provider import EXTRAS as PROVIDERS

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load_release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release: Any = load_release()
IMPORTED_AS = {
    "pydantic_ai_slim": "pydantic_ai",
    "openai_agents": "agents",
    "agent_framework_core": "agent_framework",
    "opentelemetry_api": "opentelemetry",
}


@cache
def imported() -> set[str]:
    """The top-level modules that the source imports, wherever it does."""
    found: set[str] = set()
    for path in (ROOT / "src" / "adjourn").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Import(names=names):
                    found |= {alias.name.split(".")[0] for alias in names}
                case ast.ImportFrom(module=str(module), level=0):
                    found.add(module.split(".")[0])
                case _:
                    pass
    return found


def names_in(requirements: list[str]) -> set[str]:
    """The modules that requirements are imported as: most have one name, but for a dash."""
    names = {re.split(r"[\[<>=;! ]", requirement)[0].replace("-", "_").lower() for requirement in requirements}
    return {IMPORTED_AS.get(name, name) for name in names}


def test_the_version_is_written_once_and_everybody_says_it() -> None:
    assert adjourn.__version__ == metadata.version("adjourn") == release.version()
    assert "version" not in PROJECT


def test_the_newest_notes_are_about_this_version() -> None:
    assert not release.wrong_with_changelog((ROOT / "CHANGELOG.md").read_text("utf-8"), adjourn.__version__)
    assert release.wrong_with_changelog("# Changelog\n\n## 9.9.9\n", adjourn.__version__)


def test_the_extras_for_providers_are_those_that_errors_advise() -> None:
    assert {name for name, needed in EXTRAS.items() if "pydantic-ai-slim[" in needed[0]} == {*PROVIDERS}
    assert all(f"pydantic-ai-slim[{name}]" in EXTRAS[name][0] for name in PROVIDERS)


@pytest.mark.parametrize("extra", sorted({*EXTRAS} - {*PROVIDERS}))
def test_something_is_behind_the_extra(extra: str) -> None:
    assert names_in(EXTRAS[extra]) & imported(), "nothing in the source imports what it installs"
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert any(f"adjourn[{extra}]" in page.read_text("utf-8") for page in pages), "no document says what it is for"


def test_every_dependency_is_imported() -> None:
    assert not names_in(PROJECT["dependencies"]) - imported()


def matrix() -> set[str]:
    [text] = [path.read_text("utf-8") for path in WORKFLOWS if path.name == "ci.yml"]
    return {*yaml.safe_load(text)["jobs"]["fast"]["strategy"]["matrix"]["python"]}


def test_every_python_that_is_promised_is_tried_by_ci() -> None:
    promised = {found[1] for line in PROJECT["classifiers"] if (found := re.search(r":: (3\.\d+)$", line))}
    assert promised
    assert promised <= matrix()
    assert min(promised, key=lambda version: int(version[2:])) == PROJECT["requires-python"].removeprefix(">=")


def test_no_address_is_given_that_is_not_there() -> None:
    """The project has no home yet; when it has one, its address goes into pyproject.toml and this test goes."""
    assert "urls" not in PROJECT


def made(**changes: str) -> dict[str, str]:
    """The files of a wheel that is as it must be, but for these headers."""
    headers = {
        "Name": "adjourn", "Version": "1.2.3", "Summary": PROJECT["description"], "License-Expression": PROJECT["license"],
        "Description-Content-Type": "text/markdown", **changes,
    }  # fmt: skip
    lines = [f"{name}: {value}" for name, value in headers.items()] + [f"Provides-Extra: {name}" for name in EXTRAS]
    described = "\n".join(lines) + "\n\n" + (ROOT / "README.md").read_text("utf-8")
    return {**dict.fromkeys(release.WANTED, ""), "adjourn-1.2.3.dist-info/METADATA": described}


def test_a_wheel_that_is_as_it_must_be_passes_the_release() -> None:
    assert not release.wrong_with(made(), "", "1.2.3")


@pytest.mark.parametrize("field", ["Name", "Version", "Summary", "License-Expression", "Description-Content-Type"])
def test_a_release_with_a_wrong_description_is_refused(field: str) -> None:
    [reason] = release.wrong_with(made(**{field: "other"}), "", "1.2.3")
    assert reason.startswith(f"{field} is 'other'")


@pytest.mark.parametrize(
    "name", ["adjourn/tests/test_one.py", "adjourn/__pycache__/a.pyc", "runs.db", "x/node_modules/y.js"]
)
def test_a_release_with_something_that_does_not_belong_there_is_refused(name: str) -> None:
    assert release.wrong_with({**made(), name: ""}, "", "1.2.3") == [f"{name} does not belong there"]


def test_a_release_without_the_console_or_with_another_readme_is_refused() -> None:
    files = made()
    del files["adjourn/server/static/index.html"]
    assert release.wrong_with(files, "", "1.2.3") == ["adjourn/server/static/index.html is missing"]
    files = {name: text.replace("# Adjourn", "# Other") for name, text in made().items()}
    assert release.wrong_with(files, "", "1.2.3") == ["its description is not the README"]


# --- what runs elsewhere calls the Makefile ------------------------------------------------------------------------


def targets() -> set[str]:
    text = (ROOT / "Makefile").read_text("utf-8")
    return {name for line in re.findall(r"^\.PHONY: (.+)$", text, re.MULTILINE) for name in line.split()}


def commands(thing: Any) -> list[str]:
    """Every `run` and `entry` of a file, however deep."""
    if isinstance(thing, dict):
        known = cast(dict[str, Any], thing)
        own = [str(value) for key, value in known.items() if key in {"run", "entry"}]
        return own + [command for value in known.values() for command in commands(value)]
    if isinstance(thing, list):
        return [command for value in cast(list[Any], thing) for command in commands(value)]
    return []


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / ".pre-commit-config.yaml"], ids=lambda path: path.name)
def test_whatever_checks_elsewhere_only_calls_the_makefile(path: Path) -> None:
    found = commands(yaml.safe_load(path.read_text("utf-8")))
    assert found
    assert not [command for command in found if command.split()[0] != "make" or not {*command.split()[1:]} <= targets()]
    assert "://" not in path.read_text("utf-8")


def test_every_long_campaign_runs_with_one_of_two_targets() -> None:
    crash, fleet = (
        next(
            line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if "-m crash" in line and word in line
        )
        for word in ("--ignore", "ADJOURN_KEEP_FIGURES")
    )
    left_out = re.findall(r"--ignore (\S+)", crash)
    assert re.findall(r" (tests\S*)", crash) == ["tests", *left_out]
    assert re.findall(r" (tests\S*)", fleet) == left_out


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "AGENTS.md", "Makefile", ".github/pull_request_template.md"]
)
def test_every_verb_of_make_that_is_told_exists(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    told = {*re.findall(r"(?:`|^|# )make ([a-z][a-z-]*)", text, re.MULTILINE)}
    assert told
    assert told <= targets()


def test_contributors_are_told_every_verb_that_they_need() -> None:
    own = {
        "lint",
        "types",
        "check-console",
        "console",
        "mock",
        "browser",
        "postgres",
        "programs",
        "pictures",
        "performance",
        "bench-peers",
        "demo",
        "clean",
    }
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert not [name for name in targets() - own if f"`make {name}" not in text]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "AGENTS.md", "ARCHITECTURE.md"])
def test_every_file_that_is_told_exists(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    told = {*re.findall(r"`((?:tests|src|docs|requirements|\.ci)/[\w./-]+)`", text)}
    told |= {f"tests/house/{file}" for file in re.findall(r"`(test_\w+\.py)`", text)}
    assert told
    assert not [path for path in told if not (ROOT / path).exists()]


def test_every_rule_names_the_test_that_proves_it() -> None:
    rules = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Rules")[2].partition("\n## ")[0]
    rows = [line for line in rules.splitlines() if line.startswith("| ") and not line.startswith("| rule")]
    assert len(rows) > 12
    assert not [row for row in rows if not re.search(r"\| [^|]*`[^`]*(?:test_\w+|conftest)\.py`[^|]*\|$", row)]


def is_there(name: str) -> bool:
    """Whether `core.state` is a module, or `core.plan.plan` is defined in one."""
    *parents, last = name.split(".")
    folder = (ROOT / "src" / "adjourn").joinpath(*parents)
    if (folder / last).is_dir() or (folder / f"{last}.py").is_file():
        return True
    module = folder.with_suffix(".py")
    return module.is_file() and re.search(rf"\b(?:def|class) {last}\b", module.read_text("utf-8")) is not None


def test_the_map_of_the_architecture_names_modules_that_are_there() -> None:
    rooms = "|".join(path.parent.name for path in (ROOT / "src" / "adjourn").glob("*/__init__.py"))
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    named = {*re.findall(rf"`((?:{rooms})(?:\.\w+)+)`", text)}
    assert len(named) > 50
    assert not [name for name in sorted(named) if not is_there(name)]
