"""How much the holder of a key may ask, in memory and in a file that processes share."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from softquery.errors import ConfigError, InputError
from softquery.serve.operation.allowances import Allowance, Amount, KeyUsage, UsageBook


@pytest.fixture
def clock(monkeypatch):
    """A time that stands still until it is moved: `clock[0] += 1`."""
    now = [1_000_000_000.0]
    monkeypatch.setattr("softquery.serve.operation.allowances.time.time", lambda: now[0])
    return now


@pytest.fixture(params=["memory", "file"])
def book(request, tmp_path):
    book = UsageBook(None if request.param == "memory" else tmp_path / "usage")
    yield book
    book.close()


@pytest.mark.parametrize(("text", "seconds"), [("10/s", 1), ("7/min", 60), ("1/hour", 3_600)])
def test_an_amount_is_read_as_it_is_written(text, seconds):
    assert str(Amount.read(text)) == text
    assert Amount.read(text).seconds == seconds


@pytest.mark.parametrize("text", ["", "10", "0/s", "-1/s", "1.5/s", "10/week", "10/s/s", "٣/s"])
def test_other_amounts_are_refused(text):
    with pytest.raises(ConfigError, match="expected a number per period such as 10/s"):
        Amount.read(text)


def test_a_rate_lets_its_number_come_at_once_and_then_steadily(book, clock):
    allowed = Allowance(rate=Amount(3, "min"))
    assert [book.wait_for("ada", allowed)[0] for _ in range(4)] == [0, 0, 0, 20]
    assert book.wait_for("grace", allowed) == (0.0, None)
    clock[0] += 20
    assert book.wait_for("ada", allowed) == (0.0, None)
    seconds, amount = book.wait_for("ada", allowed)
    assert (round(seconds, 6), amount) == (20, allowed.rate)


def test_a_quota_begins_anew_with_the_next_day(book, clock):
    allowed = Allowance(quota=Amount(100, "day"))
    assert book.wait_for("ada", allowed) == (0.0, None)
    book.add_tokens("ada", allowed, 60)
    assert book.wait_for("ada", allowed) == (0.0, None)
    book.add_tokens("ada", allowed, 60)
    seconds, amount = book.wait_for("ada", allowed)
    assert amount == allowed.quota
    assert seconds == 86_400 - clock[0] % 86_400
    clock[0] += seconds
    assert book.wait_for("ada", allowed) == (0.0, None)


def test_a_request_that_the_quota_refuses_takes_nothing_from_the_rate(book, clock):
    both = Allowance(rate=Amount(1, "day"), quota=Amount(1, "s"))
    book.add_tokens("ada", both, 5)
    assert book.wait_for("ada", both)[1] == both.quota
    clock[0] += 1
    assert book.wait_for("ada", both) == (0.0, None)


def test_who_may_ask_anything_is_not_counted(book):
    assert all(book.wait_for("ada", Allowance()) == (0.0, None) for _ in range(100))


def test_a_clock_that_goes_back_gives_nothing(clock):
    usage = KeyUsage(requests=0.0, seen=clock[0])
    assert usage.take_request(Amount(1, "s"), clock[0] - 100) == 1.0


def test_a_file_is_shared_by_processes_and_lasts(tmp_path):
    file, allowed = tmp_path / "usage", "Allowance(rate=Amount(40, 'day'))"
    code = (
        "from softquery.serve.operation.allowances import Allowance, Amount, UsageBook\n"
        f"book = UsageBook({str(file)!r})\n"
        f"print(sum(book.wait_for('ada', {allowed})[0] == 0 for _ in range(30)))\n"
    )

    def run(_):
        return int(subprocess.run([sys.executable, "-c", code], capture_output=True).stdout)

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(run, range(3))) == 40
    book = UsageBook(file)
    assert book.wait_for("ada", Allowance(rate=Amount(40, "day")))[0] > 0
    assert book.wait_for("grace", Allowance(rate=Amount(40, "day")))[0] == 0
    book.close()


@pytest.mark.parametrize("content", [b"x" * 64, b"softquery usage 1\n".ljust(64, b"\0") + b"y"])
def test_a_file_that_holds_something_else_is_refused_and_kept(tmp_path, content):
    file = tmp_path / "usage"
    file.write_bytes(content)
    with pytest.raises(InputError, match="holds something else than the usage of keys"):
        UsageBook(file)
    assert file.read_bytes() == content
    with pytest.raises(InputError, match="cannot be used"):
        UsageBook(tmp_path)
