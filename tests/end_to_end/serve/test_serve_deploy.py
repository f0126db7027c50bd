"""What deploys a server: the Dockerfile's steps, the unit, the dashboard, and the load test."""

import configparser
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from softquery.bench.nginx_front import configuration
from softquery.errors import ConfigError
from softquery.serve.telemetry import Metrics

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
UNREACHABLE = ("No matching distribution", "Could not find a version", "Connection", "Max retries")


@pytest.mark.slow
def test_the_steps_of_the_dockerfile_make_a_server_that_lives_and_stops(tmp_path):
    command = [sys.executable, str(DEPLOY / "steps.py"), str(tmp_path / "image")]
    quick = {**os.environ, "PIP_NO_COMPILE": "false"}  # so it is spelt: no byte code is made
    result = subprocess.run(command, capture_output=True, text=True, timeout=280, env=quick)
    if result.returncode and any(mark in result.stderr for mark in UNREACHABLE):
        pytest.skip("pip cannot fetch the dependencies")
    assert result.returncode == 0, result.stderr[-3000:]
    assert result.stdout.splitlines()[-2:] == ["healthy", "stopped"]
    assert result.stdout.count("RUN") == 3


def test_the_image_is_slim_and_not_roots():
    words = [line.split(None, 1) for line in DOCKERFILE.splitlines() if re.match("[A-Z]+ ", line)]
    assert [rest for word, rest in words if word == "USER"] == ["10001"]
    assert all("slim" in rest for word, rest in words if word == "FROM")
    last = [word for word, _ in words]
    assert last.index("USER") < last.index("ENTRYPOINT")
    assert "HEALTHCHECK" in last
    assert "torch" not in re.search(r'"/source\[(.+?)\]"', DOCKERFILE)[1]
    assert "[train" not in DOCKERFILE


def test_what_the_image_copies_is_sent_to_the_builder():
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [line.split()[1:-1] for line in DOCKERFILE.splitlines() if line.startswith("COPY")]
    sources = {name for names in copied for name in names if not name.startswith(("-", "/"))}
    assert sources == {line[1:] for line in ignored if line.startswith("!")}
    assert "packages" in sources


def options(text):
    named = re.findall(r"SOFTQUERY_[A-Z_]+", text) + [
        f"SOFTQUERY_{name}" for name in re.findall(r', "([A-Z_]+)"', text)
    ]
    return set(named) - {"SOFTQUERY_HOME", "SOFTQUERY_"}


def test_variables_that_are_named_exist():
    verb = (ROOT / "src" / "softquery" / "cli" / "serve.py").read_text(encoding="utf-8")
    unit = (DEPLOY / "softquery.service").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
    for text in (DOCKERFILE, unit, page):
        assert options(text) <= options(verb)
    assert options(verb) <= options(page)
    assert len(options(verb)) == 23


def test_the_unit_is_one():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "softquery.service", encoding="utf-8")
    service = unit["Service"]
    assert service["ExecStart"] == "/opt/softquery/bin/softquery serve"
    assert int(service["TimeoutStopSec"]) > 30
    assert service["DynamicUser"] == "yes"


def test_the_dashboard_asks_for_numbers_that_exist():
    metrics = Metrics()
    metrics.observe_request("/rerank", 200, 0.1)
    metrics.observe_stage("compute", "match-en", 0.1)
    metrics.observe_batch("match-en", 3, 40)
    metrics.truncated.labels("match-en").inc()
    known = set(re.findall(r"^(softquery_\w+)", metrics.text().decode(), re.MULTILINE))
    board = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    names = {name for expression in asked for name in re.findall(r"softquery_\w+", expression)}
    assert len(board["panels"]) == 7
    assert names <= known


def test_the_load_test_runs(tmp_path):
    pytest.importorskip("fastapi")
    from softquery.bench.serve import OURS, run_serve_bench

    said = []
    result = run_serve_bench(
        "match-en", threads=1, clients=8, rounds=1, seconds=1.0, rivals=(), say=said.append
    )
    (load,) = result.loads[OURS]
    assert load.statuses == {"200": load.num_answers}
    assert load.num_answers >= 8
    assert load.num_errors == 0
    assert 0 < load.latencies["p50"] <= load.latencies["p99"] <= load.latencies["max"]
    assert result.ratio > 0
    assert result.fairness(load) > 0
    assert len(said) == 2


def test_replicas_without_nginx_are_refused_before_anything_is_measured(monkeypatch):
    pytest.importorskip("fastapi")
    from softquery.bench.serve import run_serve_bench

    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    said = []
    with pytest.raises(ConfigError, match="nginx is not installed"):
        run_serve_bench("match-en", replicas=2, say=said.append)
    assert said == []


def test_the_configurations_of_nginx_are_what_is_tested_behind_it():
    servers = ["127.0.0.1:8001", "127.0.0.1:8002"]
    for file, canary in (("nginx.conf", []), ("nginx-canary.conf", ["127.0.0.1:8003"])):
        text = (DEPLOY / file).read_text(encoding="utf-8")
        assert text == configuration(servers, listen="8000", folder="/run/softquery", canary=canary)


def test_the_manifests_ask_for_what_the_server_has():
    yaml = pytest.importorskip("yaml")
    found = {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in (DEPLOY / "kubernetes").glob("*.yaml")
    }
    verb = (ROOT / "src" / "softquery" / "cli" / "serve.py").read_text(encoding="utf-8")
    variables = found["config"]["data"]
    assert set(variables) <= options(verb)
    stops = int(variables["SOFTQUERY_LINGER"]) + int(variables["SOFTQUERY_DRAIN"])
    for name in ("deployment", "canary"):
        pod = found[name]["spec"]["template"]
        (container,) = pod["spec"]["containers"]
        assert pod["spec"]["terminationGracePeriodSeconds"] > stops
        assert container["livenessProbe"]["httpGet"]["path"] == "/health"
        assert container["readinessProbe"]["httpGet"]["path"] == "/ready"
        assert str(container["ports"][0]["containerPort"]) == variables["SOFTQUERY_PORT"]
        labels = pod["metadata"]["labels"]
        assert found["service"]["spec"]["selector"].items() <= labels.items()
        assert found[name]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (metric,) = found["autoscaler"]["spec"]["metrics"]
    asked = metric["pods"]["metric"]["name"]
    assert f"{asked} " in Metrics().text().decode()
    assert int(metric["pods"]["target"]["averageValue"]) < int(variables["SOFTQUERY_QUEUE"])
