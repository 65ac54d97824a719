"""OpenTelemetry: spans and metrics of what runs do (`pip install 'adjourn[otel]'`)."""

from typing import TYPE_CHECKING, Any

from adjourn.driver.metrics import Meter
from adjourn.errors import InvalidDefinition

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

__all__ = ["Telemetry", "instrument"]


class Telemetry:
    """What `instrument` has switched on. `stop()` switches it off again; it is a context manager, too.

    Args:
        watch: who is told; `instrument` makes it.
    """

    def __init__(self, watch: Any) -> None:
        self._watch = watch

    def stop(self) -> None:
        """Tell of nothing that begins from here on. What was told is the provider's to send."""
        if Meter.watch is self._watch:
            Meter.watch = None

    def __enter__(self) -> "Telemetry":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def instrument(
    *,
    tracer_provider: "TracerProvider | None" = None,
    meter_provider: "MeterProvider | None" = None,
    content: bool = False,
) -> Telemetry:
    """Tell OpenTelemetry what the runs of this process do, from here on.

    Args:
        tracer_provider: where spans go; without it, the process's own.
        meter_provider: where measurements go; without it, the process's own.
        content: also what was said to models and by them, arguments and results. Sealed secrets stay
            sealed.
    """
    try:
        from adjourn.runtime.otel_spans import RunTelemetry
    except ImportError as e:
        raise InvalidDefinition(
            f"OpenTelemetry is missing ({e}): pip install 'adjourn[otel]'"
        ) from e
    watch = RunTelemetry(tracer_provider, meter_provider, content=content)
    Meter.watch = watch
    return Telemetry(watch)
