"""What a hub counts of itself, for Prometheus: nodes, rooms, calls, their time, refusals.

Counting is a few additions; prometheus-client writes the text on request.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal

from duetty.clock import Clock
from duetty.errors import DuettyError

Kind = Literal["machine", "room"]

BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

MAX_CODES = 200
"""Error codes are few and permanent, but those of nodes are their own."""


@dataclass(slots=True)
class _Times:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    sum_s: float = 0.0


class HubMetrics:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._outcomes: Counter[tuple[Kind, str]] = Counter()
        self._refused: Counter[str] = Counter()
        self._times: dict[Kind, _Times] = {"machine": _Times(), "room": _Times()}

    def calling(self, kind: Kind) -> "_Calling":
        """A call that is sent on; how it ends is its outcome: `done` or an error's code."""
        return _Calling(self, kind, self._clock.monotonic_s())

    def ended(self, kind: Kind, began_s: float, error: BaseException | None) -> None:
        outcome = "done" if error is None else "cancelled"
        if isinstance(error, DuettyError):
            outcome = error.code if len(self._outcomes) < MAX_CODES else "other"
        self._outcomes[kind, outcome] += 1
        took_s = self._clock.monotonic_s() - began_s
        times = self._times[kind]
        times.counts[bisect_left(BOUNDS_S, took_s)] += 1
        times.sum_s += took_s

    def refused(self, code: str) -> None:
        """A machine, a host or a caller that was turned away."""
        self._refused[code if len(self._refused) < MAX_CODES else "other"] += 1

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> bytes:
        """All of it; `gauges` are what is so now, by name, with what they mean."""
        from prometheus_client.core import (  # loaded by the first who asks
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )
        from prometheus_client.exposition import generate_latest
        from prometheus_client.registry import CollectorRegistry

        families: list[GaugeMetricFamily | CounterMetricFamily | HistogramMetricFamily] = [
            GaugeMetricFamily(f"duetty_hub_{name}", meaning, value=value)
            for name, (meaning, value) in gauges.items()
        ]
        calls = CounterMetricFamily(
            "duetty_hub_calls",
            "Calls that were sent on, by how they ended",
            labels=["to", "outcome"],
        )
        for (kind, outcome), count in self._outcomes.items():
            calls.add_metric([kind, outcome], count)
        refused = CounterMetricFamily("duetty_hub_refusals", "Who was turned away", labels=["code"])
        for code, count in self._refused.items():
            refused.add_metric([code], count)
        seconds = HistogramMetricFamily(
            "duetty_hub_call_seconds", "From the call to its answer", labels=["to"]
        )
        for kind, times in self._times.items():
            total, buckets = 0, list[tuple[str, float]]()
            for bound, count in zip((*BOUNDS_S, float("inf")), times.counts, strict=True):
                total += count
                buckets.append(("+Inf" if bound == float("inf") else str(bound), total))
            seconds.add_metric([kind], buckets, sum_value=times.sum_s)

        class Collected:
            def collect(self) -> list[object]:
                return [*families, calls, refused, seconds]

        registry = CollectorRegistry()
        registry.register(Collected())  # pyright: ignore[reportArgumentType] # a collector by its shape
        return generate_latest(registry)


class _Calling:
    """A class, since a generator for each of thousands of calls a second is felt."""

    __slots__ = ("_began_s", "_kind", "_metrics")

    def __init__(self, metrics: HubMetrics, kind: Kind, began_s: float) -> None:
        self._metrics = metrics
        self._kind: Kind = kind
        self._began_s = began_s

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        self._metrics.ended(self._kind, self._began_s, error)
