"""From `app.py:agent` or `module:attr` to agents, flows, and the live objects that their tools
need."""

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from adjourn.agent.agent import Agent
from adjourn.cli.error_report import NotImportable
from adjourn.cli.suggestions import meant
from adjourn.core.effect import is_function
from adjourn.errors import AdjournError, InvalidDefinition
from adjourn.flow.flow import Flow


def load(reference: str) -> Any:
    """The object that `PLACE:ATTR` names; raises `InvalidDefinition` saying what is there
    instead."""
    place, found, path = reference.rpartition(":")
    if not found or not place or not path:
        raise InvalidDefinition(f"write app.py:agent or module:agent, not {reference!r}")
    module = _module(place)
    thing: Any = module
    for name in path.split("."):
        if not hasattr(thing, name):
            known = [k for k, v in vars(module).items() if isinstance(v, Agent | Flow)]
            raise InvalidDefinition(
                f"{place} has no {path!r}",
                advice=f"its agents and flows are: {', '.join(known) or 'none'}.{meant(path, known)}",
            )
        thing = getattr(thing, name)
    return thing


def _module(place: str) -> ModuleType:
    try:
        if not place.endswith(".py"):
            if (here := str(Path.cwd())) not in sys.path:
                sys.path.insert(0, here)
            return importlib.import_module(place)
        file = Path(place).resolve()
        if not file.is_file():
            raise InvalidDefinition(f"file {place!r} not found")
        if str(file.parent) not in sys.path:
            sys.path.insert(0, str(file.parent))  # as `python app.py` does
        return _from_file(file)
    except AdjournError:
        raise
    except Exception as e:
        raise NotImportable(place, e) from e


def _from_file(file: Path) -> ModuleType:
    known = sys.modules.get(file.stem)
    if known is not None and getattr(known, "__file__", None) == str(file):
        return known
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise InvalidDefinition(f"{str(file)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def programs_of(reference: str) -> list[Agent[Any] | Flow]:
    """The agent or flow, the list of them, or the function that makes one, behind a reference."""
    thing = load(reference)
    if is_function(thing) and not isinstance(thing, Agent | Flow):
        try:
            thing = thing()
        except Exception as e:
            raise NotImportable(reference, e) from e
    if isinstance(thing, list | tuple):
        found: list[Any] = list(thing)  # pyright: ignore[reportUnknownArgumentType]
    else:
        found = [thing]
    for one in found:
        if not isinstance(one, Agent | Flow):
            raise InvalidDefinition(
                f"{reference} is {one!r:.80}, not an agent or a flow",
                advice="name one of its agents or flows",
            )
    return found


def program_of(reference: str) -> Agent[Any] | Flow:
    """The one agent or flow behind a reference."""
    found = programs_of(reference)
    if len(found) != 1:
        names = ", ".join(one.name for one in found) or "none"
        raise InvalidDefinition(
            f"{reference} has {len(found)} agents and flows ({names})", advice="name one of them"
        )
    return found[0]


def resources_of(reference: str) -> Mapping[str, Any]:
    """The dict, or what the function gives, behind a reference; nothing for an empty one."""
    if not reference:
        return {}
    thing = load(reference)
    if is_function(thing):
        thing = thing()
    if not isinstance(thing, Mapping):
        raise InvalidDefinition(f"{reference} is {thing!r:.80}, not a dict of names and objects")
    return cast("Mapping[str, Any]", thing)
