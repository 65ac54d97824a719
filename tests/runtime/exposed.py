"""What `/metrics` says, read as Prometheus reads it."""

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

Values = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Numbers:
    """Every sample of an answer, by its name and labels; and every family with its type."""

    def __init__(self, text: str) -> None:
        self.kinds: dict[str, str] = {}
        self.values: Values = {}
        for family in text_string_to_metric_families(text):
            assert family.documentation, family.name
            self.kinds[family.name] = family.type
            for sample in family.samples:
                key = sample.name, frozenset(sample.labels.items())
                assert key not in self.values, f"{sample.name} twice"
                self.values[key] = sample.value

    @property
    def names(self) -> set[str]:
        """What can be asked for."""
        found: set[str] = set()
        for name, kind in self.kinds.items():
            match kind:
                case "counter":
                    found.add(f"{name}_total")
                case "histogram":
                    found |= {f"{name}_bucket", f"{name}_sum", f"{name}_count"}
                case _:
                    found.add(name)
        return found

    def of(self, name: str, labels: Mapping[str, str] | None = None, **more: str) -> float:
        """One sample; 0 if there is none."""
        return self.values.get((name, frozenset({**(labels or {}), **more}.items())), 0.0)
