"""One measurement in this process: `one.py NAME ARGUMENT...` prints its figures as JSON."""

import asyncio
import importlib
import inspect
import json
import sys


def main() -> None:
    module, _, name = sys.argv[1].rpartition(".")
    function = getattr(importlib.import_module(module or "adjourn_cost"), name)
    arguments = [int(a) if a.isdigit() else a for a in sys.argv[2:]]
    found = function(*arguments)
    if inspect.isawaitable(found):
        found = asyncio.run(found)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
