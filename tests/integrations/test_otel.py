"""Traces, as a collector of OpenTelemetry receives them over HTTP."""

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

reason = 'needs "softquery[serve,otel]"'
pytest.importorskip("fastapi", reason=reason)
pytest.importorskip("opentelemetry.sdk", reason=reason)
pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason=reason)

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: E402
    ExportTraceServiceRequest,
)
from served import Server  # noqa: E402

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
BODY = {"query": "a text that no trace may hold", "texts": ["one", "two"]}


class Collector(ThreadingHTTPServer):
    """Keeps the spans that it is sent."""

    def __init__(self):
        self.spans, self.services = [], set()
        super().__init__(("127.0.0.1", 0), Collected)

    @property
    def port(self):
        return self.server_address[1]


class Collected(BaseHTTPRequestHandler):
    def do_POST(self):
        content = self.rfile.read(int(self.headers["content-length"]))
        request = ExportTraceServiceRequest.FromString(content)
        for resource in request.resource_spans:
            named = {each.key: each.value.string_value for each in resource.resource.attributes}
            self.server.services.add(named["service.name"])
            self.server.spans += [span for scope in resource.scope_spans for span in scope.spans]
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *words):
        """Say nothing."""


@pytest.fixture
def collector():
    with Collector() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def test_a_request_is_one_span_with_its_parts_in_the_trace_of_its_client(
    collector, tmp_path, monkeypatch
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.port}")
    server = Server("match-en", port=free_port(), log=tmp_path / "log", options=("--traces",))
    server.start()
    try:
        for status, body in ((200, BODY), (422, {"query": 1})):
            assert ask(server.port, body) == status
    finally:
        assert server.stop() == 0
    assert collector.services == {"softquery"}
    found = [span for span in collector.spans if span.name == "POST /rerank"]
    assert len(found) == 2, [(span.span_id.hex(), attributes(span)) for span in collector.spans]
    answered, refused = found
    assert (answered.trace_id.hex(), answered.parent_span_id.hex()) == (TRACE, PARENT)
    facts = attributes(answered)
    assert facts["http.response.status_code"] == 200
    assert facts["softquery.model"] == "match-en"
    assert facts["softquery.tokens"] > 5
    assert attributes(refused)["http.response.status_code"] == 422
    parts = [span for span in collector.spans if span.parent_span_id == answered.span_id]
    assert [span.name for span in parts] == ["read", "compute", "answer"]
    ends = [
        answered.start_time_unix_nano,
        *(
            moment
            for span in parts
            for moment in (span.start_time_unix_nano, span.end_time_unix_nano)
        ),
        answered.end_time_unix_nano,
    ]
    assert ends == sorted(ends)
    assert attributes(parts[1])["softquery.compute_seconds"] > 0
    assert "no trace may hold" not in str(collector.spans)


def attributes(span):
    """What a span says."""
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes
    }


def ask(port, body):
    """The status of a request that belongs to a client's trace."""
    headers = {"content-type": "application/json", "traceparent": f"00-{TRACE}-{PARENT}-01"}
    url = f"http://127.0.0.1:{port}/rerank"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def free_port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]
