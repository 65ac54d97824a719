"""Numbered migrations: `sql/NNNN_name.sql`, each applied once, in order, in one transaction with its number."""

from importlib import resources

from adjourn.errors import StoreError


def migrations() -> list[tuple[int, str]]:
    """Every migration as (number, SQL), in order."""
    folder = resources.files("adjourn.stores") / "sql"
    found = [(int(f.name[:4]), f.read_text()) for f in folder.iterdir() if f.name.endswith(".sql")]
    return sorted(found)


def pending(version: int, where: str) -> list[tuple[int, str]]:
    """What a store at `version` still needs; refuses a store made by a newer Adjourn."""
    known = migrations()
    newest = known[-1][0]
    if version > newest:
        raise StoreError(
            f"{where} has schema {version}; this Adjourn knows {newest}: use a newer Adjourn. Nothing was changed"
        )
    return [m for m in known if m[0] > version]
