"""Traces of requests for OpenTelemetry: what each request waited for, and for how long.

A span covers a request, with three spans inside it: `read`, until its body is complete; `compute`,
from the queue to the last answer; `answer`, until the last byte. They hold the route, the status,
the model, tokens and seconds, and nothing that users wrote. The trace of a client that sends
`traceparent` is continued.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from softquery.errors import MissingExtra

SERVICE = "softquery"


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestTrace:
    """What is known of a request when it has been answered; times are those of `perf_counter`."""

    headers: Mapping[str, str]
    method: str
    route: str
    status: int
    began: float
    ended: float
    attributes: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    parts: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """When parts of it began and ended."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds of the request's stages inside the engine."""


class Tracing:
    """Sends a trace of every request to where OpenTelemetry's own variables say.

    Where a program has set up OpenTelemetry itself, its provider is used.

    Raises:
        MissingExtra: OpenTelemetry is not installed.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise MissingExtra("otel", needed_for="traces") from None
        if not isinstance(trace.get_tracer_provider(), TracerProvider):
            named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": SERVICE}
            provider = TracerProvider(resource=Resource.create(named))
            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
            trace.set_tracer_provider(provider)
        self._tracer: Any = trace.get_tracer(SERVICE)

    def record(self, found: RequestTrace) -> None:
        """Send the spans of a request."""
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        moment, now = time.time_ns(), time.perf_counter()

        def clock(seconds: float) -> int:
            return moment - round((now - seconds) * 1e9)

        request = self._tracer.start_span(
            f"{found.method} {found.route}",
            context=TraceContextTextMapPropagator().extract(found.headers),
            kind=trace.SpanKind.SERVER,
            start_time=clock(found.began),
            attributes={
                "http.request.method": found.method,
                "http.route": found.route,
                "http.response.status_code": found.status,
                **found.attributes,
            },
        )
        inside = trace.set_span_in_context(request)
        for name, (began, ended) in found.parts.items():
            stages = {f"softquery.{stage}_seconds": s for stage, s in found.stages.items()}
            part = self._tracer.start_span(
                name,
                context=inside,
                start_time=clock(began),
                attributes=stages if name == "compute" else {},
            )
            part.end(clock(ended))
        if found.status >= 500:
            request.set_status(trace.StatusCode.ERROR)
        request.end(clock(found.ended))

    def close(self) -> None:
        """Send what has not been sent."""
        from opentelemetry import trace

        provider: Any = trace.get_tracer_provider()
        provider.force_flush()
