"""Two servers behind a real nginx: restarted under load, and beside a canary."""

import asyncio
import shutil
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from softquery.bench.load_test import LoadRun, as_request, rankings
from softquery.bench.nginx_front import nginx_before

pytest.importorskip("fastapi", reason='needs "softquery[serve]"')
if not (shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")):
    pytest.skip("needs nginx", allow_module_level=True)
if ".venv-integrations" not in sys.prefix:
    pytest.skip("takes a minute: make integrations ONLY=nginx", allow_module_level=True)

from served import Server  # noqa: E402  (it imports the server)

CLIENTS, ROUNDS = 64, 3
LINGERING = ("--linger", "3")
"""Longer than nginx passes over a server that was down, so that the other one is back by then."""
LONGEST = 240.0
"""Seconds of load, which ends as soon as everything was restarted."""


@pytest.fixture
def two(tmp_path):
    """Two replicas that have their ports for good."""
    servers = [
        Server("match-en", port=free_port(), log=tmp_path / f"{n}.log", options=LINGERING)
        for n in range(2)
    ]
    for each in servers:
        each.start()
    yield servers
    for each in servers:
        each.stop()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def test_replicas_are_restarted_one_after_the_other_and_no_request_fails(two, tmp_path):
    with nginx_before([each.port for each in two], tmp_path) as port:
        run = LoadRun([as_request("/rerank", body) for body in rankings(5)], CLIENTS, LONGEST)
        restarts = []

        def restart_all():
            time.sleep(2)
            for each in two * ROUNDS:
                restarts.append(each.restart())
            time.sleep(2)
            run.stop = time.perf_counter()

        restarting = threading.Thread(target=restart_all)
        restarting.start()
        load = asyncio.run(run.against(port))
        restarting.join()
    assert restarts == [0] * 2 * ROUNDS
    assert load.num_answers > 20 * CLIENTS
    assert load.statuses == {"200": load.num_answers}


def test_models_are_opened_anew_under_load_and_no_request_fails(two, tmp_path):
    with nginx_before([each.port for each in two], tmp_path) as port:
        run = LoadRun([as_request("/rerank", body) for body in rankings(5)], CLIENTS, LONGEST)

        def reload_both():
            for number in range(1, 4):
                for each in two:
                    each.reload()
                    while each.count("reloaded") < number:
                        time.sleep(0.1)
            run.stop = time.perf_counter()

        reloading = threading.Thread(target=reload_both)
        reloading.start()
        load = asyncio.run(run.against(port))
        reloading.join()
    assert load.statuses == {"200": load.num_answers}
    assert [each.count("reloaded") for each in two] == [3, 3]


def test_a_canary_answers_its_share_of_the_clients_and_each_client_alike(two, tmp_path):
    canary = Server("match-zh", port=free_port(), log=tmp_path / "canary.log")
    canary.start()
    ports = [each.port for each in two]
    with nginx_before(ports, tmp_path, canary=[canary.port]) as port, ThreadPoolExecutor(8) as pool:

        def model_of(client):
            return canary.info(port, key=f"client-{client}")["model_id"]

        first = list(pool.map(model_of, range(400)))
        again = list(pool.map(model_of, range(400)))
    canary.stop()
    assert first == again
    assert 40 <= first.count("match-zh") <= 120  # a fifth is 80, give or take five deviations
    assert set(first) == {"match-en", "match-zh"}
