"""Logs are JSON, and hold what users wrote only when asked."""

import io
import json
import logging

import pytest

pytest.importorskip("fastapi", reason="the server needs the extra [serve]")

from softquery.serve.faults import Dialect, Fault, FaultKind, validation
from softquery.serve.telemetry import LOGGER, log, set_up_logs


@pytest.fixture
def written():
    before = {
        name: (logging.getLogger(name).handlers, logging.getLogger(name).propagate)
        for name in ("softquery.serve", "uvicorn", "uvicorn.error", "uvicorn.access")
    }
    yield io.StringIO()
    for name, (handlers, propagate) in before.items():
        logging.getLogger(name).handlers = handlers
        logging.getLogger(name).propagate = propagate


def test_a_line_is_an_object_with_its_fields(written):
    set_up_logs(log_text=False, stream=written)
    log(logging.INFO, "request", {"status": 200, "path": "/ünï"})
    logging.getLogger("uvicorn.error").warning("something of %s", "uvicorn's")
    first, second = map(json.loads, written.getvalue().splitlines())
    assert (first["event"], first["status"], first["path"]) == ("request", 200, "/ünï")
    assert first["time"].endswith("Z")
    assert (second["level"], second["event"]) == ("warning", "something of uvicorn's")


def test_a_line_is_no_command_to_a_terminal(written):
    set_up_logs(log_text=True, stream=written)
    evil = "\x1b[31m\x7f\x9b2J\u202e\u2066\u2028\ufeff\U000e0041\udcff\r\n"
    log(logging.INFO, f"event {evil}", {"path": f"/{evil}ünï", f"key{evil}": [evil]})
    try:
        raise ValueError(f"said {evil}")
    except ValueError:
        LOGGER.error("a fault", exc_info=True)
    shown = written.getvalue()
    unsafe = "\x1b\x7f\x9b\u202e\u2066\u2028\ufeff\U000e0041\udcff\r"
    assert [mark for mark in unsafe if mark in shown] == []
    first, second = map(json.loads, shown.splitlines())
    assert (first["event"], first["path"]) == (f"event {evil}", f"/{evil}ünï")
    assert first[f"key{evil}"] == [evil]
    assert "ünï" in shown
    assert second["said"] == f"said {evil}"


@pytest.mark.parametrize("log_text", [False, True])
def test_what_an_exception_says_is_written_only_when_asked(written, log_text):
    set_up_logs(log_text=log_text, stream=written)
    try:
        raise ValueError("the secret of a user")
    except ValueError:
        LOGGER.error("a fault", exc_info=True)
    (line,) = map(json.loads, written.getvalue().splitlines())
    assert line["error"] == "ValueError"
    assert line["where"][-1].endswith("test_what_an_exception_says_is_written_only_when_asked")
    assert ("secret" in written.getvalue()) == log_text


@pytest.mark.parametrize("dialect", Dialect)
def test_every_dialect_has_its_shape(dialect):
    fault = Fault(FaultKind.OVERLOADED, "full", headers={"Retry-After": "3"})
    assert fault.status(dialect) == 429
    body = fault.body(dialect)
    assert {
        Dialect.TEI: lambda: body == {"error": "full", "error_type": "Overloaded"},
        Dialect.OPENAI: lambda: body["error"]["message"] == "full",
        Dialect.RERANK: lambda: body["message"] == "full",
    }[dialect]()


def test_a_wrong_body_is_said_in_one_line_without_its_text():
    errors = [
        {"loc": ("body", "RerankBody", "texts", 3), "msg": "Input should be a valid string"},
        {"loc": ("body", "JinaRerank", "texts", 3), "msg": "Input should be a valid string"},
        {"loc": ("body", "query", "str"), "msg": "Field required", "input": "a secret"},
        {"loc": ("body",), "msg": "Odd"},
        {"loc": ("body", "model"), "msg": "Odd"},
        {"loc": ("body",), "type": "json_invalid", "msg": "JSON decode error"},
    ]
    said = str(validation(errors))
    assert said == (
        "texts.3: input should be a valid string; query: field required; the body: odd (and 2 more)"
    )
