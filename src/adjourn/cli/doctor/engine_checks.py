"""The check behind `adjourn doctor` of the engine that the environment names."""

from adjourn.cli.doctor.finding import Finding, fine, look, wrong
from adjourn.cli.doctor.server_versions import too_old
from adjourn.cli.engine_options import EngineOptions
from adjourn.cli.extras import NotInstalled
from adjourn.errors import EngineError, InvalidDefinition
from adjourn.runtime.runtime import Runtime


async def engine(runtime: Runtime) -> list[Finding]:
    """Whether the engine answers, and whether the store tells it of runs.

    Args:
        runtime: an open runtime on the store.
    """
    waking = await runtime.store.waking()
    try:
        found = EngineOptions.from_environment().choice().engine
        if found is None:
            return _without(waking)
        await found.open()
        try:
            problems, version = await found.problems(), await found.version()
        finally:
            await found.close()
    except (EngineError, InvalidDefinition, NotInstalled) as e:
        return [wrong("engine", e.what, "Correct it", e.advice or "ADJOURN_ENGINE and its address")]
    if (old := too_old(found.name, version, "engine")) is not None:
        return [old]
    if problems:
        return [look("engine", text, "Then", advice) for text, advice in problems]
    if waking:
        said = f"{found.name} {version}".rstrip()
        return [fine("engine", f"{said} answers, and wakes runs")]
    text = f"{found.name} answers, but no worker uses it yet"
    return [look("engine", text, "Start a worker", "adjourn worker app.py:agent --engine KIND")]


def _without(waking: bool) -> list[Finding]:
    if not waking:
        return []
    text = "the store uses an engine, but ADJOURN_ENGINE is not set here"
    back = "adjourn worker app.py:agent --engine store"
    return [look("engine", text, "If the engine is no longer used", back)]
