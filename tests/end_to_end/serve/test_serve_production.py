"""What a service in production needs: probes, reloads, allowances, slow requests told apart."""

import os
import signal
import threading
import time

import pytest
from serving import Process, in_thread, wait_for

from softquery.serve import Limits, Settings
from softquery.serve.keys import add_key
from softquery.serve.operation.allowances import Allowance, Amount
from softquery.zoo import resolve

PAIR = {"query": "How do I pay?", "texts": ["Which cards do you take?", "Where are you?"]}


def test_a_server_is_ready_until_it_is_told_to_stop_and_serves_on_for_a_while():
    with Process("--model", "match-en", "--linger", "1.5") as process:
        client = process.client()
        assert client.ask("/ready").json() == {"status": "ok"}
        process.process.send_signal(signal.SIGTERM)
        wait_for(lambda: client.ask("/ready").status == 503)
        refused = client.ask("/ready")
        assert refused.json()["error"] == "the server is about to stop"
        assert client.ask("/health").status == 200
        assert client.ask("/rerank", PAIR).status == 200
        assert process.process.wait(30) == 0


def test_a_full_queue_is_not_ready(catalogue):
    limits = Limits(queue=1)
    with in_thread(Settings(models=("match-en",), threads=1, limits=limits), catalogue) as client:
        assert client.ask("/ready").status == 200
        texts = [f"How do I pay for order {number}?" for number in range(900)]
        busy = threading.Thread(target=client.ask, args=("/rerank", {**PAIR, "texts": texts}))
        busy.start()
        wait_for(lambda: client.ask("/ready").status == 503, 10)
        assert client.ask("/ready").json()["error"] == "the queue is full"
        assert client.ask("/health").status == 200
        busy.join()
        wait_for(lambda: client.ask("/ready").status == 200)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.endurance)])
def test_models_are_opened_anew_while_requests_are_answered(tmp_path, workers):
    current = tmp_path / "current"
    current.symlink_to(resolve("match-en"))
    with Process("--model", f"m={current}", "--workers", workers, "--threads", 1) as process:
        client = process.client()
        statuses, stop = [], threading.Event()

        def load():
            while not stop.is_set():
                try:
                    statuses.append(client.ask("/rerank", PAIR).status)
                except OSError as error:
                    statuses.append(str(error))

        clients = [threading.Thread(target=load) for _ in range(8)]
        for each in clients:
            each.start()
        point_to(current, tmp_path / "nothing")
        process.process.send_signal(signal.SIGHUP)
        wait_for(lambda: any("cannot be opened" in line["event"] for line in process.lines))
        point_to(current, resolve("match-zh"))
        process.process.send_signal(signal.SIGHUP)
        wait_for(lambda: process.events("reloaded"))
        before = len(statuses)
        wait_for(lambda: len(statuses) > before + 50)
        stop.set()
        for each in clients:
            each.join()
        assert set(statuses) == {200}
        assert client.ask("/info").json()["models"][0]["language"] == "zh"
        assert process.stop(signal.SIGTERM) == 0


def point_to(link, target):
    """Let a link point elsewhere, in one step."""
    other = link.with_suffix(".next")
    other.symlink_to(target)
    os.replace(other, link)


def test_keys_have_rates_and_quotas(tmp_path, catalogue):
    keys = tmp_path / "keys.txt"
    fast = add_key(keys, "fast", Allowance(rate=Amount(2, "day")))
    large = add_key(keys, "large", Allowance(quota=Amount(3, "day")))
    free = add_key(keys, "free")
    settings = Settings(models=("match-en",), keys=str(keys), usage=str(tmp_path / "usage"))

    def ask(client, key, path="/rerank"):
        return client.ask(path, PAIR, authorization=f"Bearer {key}")

    with in_thread(settings, catalogue) as client:
        assert [ask(client, fast).status for _ in range(3)] == [200, 200, 429]
        refused = ask(client, fast)
        assert refused.json() == {
            "error": f"this key is allowed 2/day, which are used; try again in "
            f"{refused.headers['retry-after']} s",
            "error_type": "Overloaded",
        }
        assert 43_000 <= int(refused.headers["retry-after"]) <= 43_200
        assert [ask(client, large).status for _ in range(2)] == [200, 429]
        assert [ask(client, free).status for _ in range(5)] == [200] * 5
        assert client.ask("/info", authorization=f"Bearer {fast}").status == 200
    with in_thread(settings, catalogue) as client:  # what was used is known after a restart
        assert [ask(client, each).status for each in (fast, large, free)] == [429, 429, 200]


def test_a_slow_request_is_logged_with_what_took_how_long_and_without_its_text(caplog, catalogue):
    text = "a sentence that nobody else may read"
    with in_thread(Settings(models=("match-en",), slow=0.000001), catalogue) as client:
        assert client.ask("/rerank", {**PAIR, "query": text}, x_request_id="me").status == 200
        wait_for(lambda: slow(caplog))
    (line,) = slow(caplog)
    assert line["id"] == "me"
    assert line["bytes"] > len(text)
    assert line["tokens"] > 5
    assert set(line["took"]) == {"read", "wait", "tokenise", "compute", "others", "answer"}
    assert 0 < sum(line["took"].values()) <= line["seconds"] + 0.001
    assert text not in str(line)
    with in_thread(Settings(models=("match-en",), slow=100.0), catalogue) as client:
        assert client.ask("/rerank", PAIR).status == 200
    time.sleep(0.05)
    assert len(slow(caplog)) == 1


def slow(caplog):
    """The fields of the lines about slow requests."""
    return [record.fields for record in caplog.records if record.message == "slow request"]
