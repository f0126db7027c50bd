"""The first signal asks, the second acts, and afterwards all is as before."""

import signal
import threading

import pytest

from softquery.training.loop import StopRequest


@pytest.fixture(autouse=True)
def _handlers_stay_as_they_were():
    before = {number: signal.getsignal(number) for number in StopRequest.SIGNALS}
    yield
    for number, handler in before.items():
        assert signal.getsignal(number) == handler
        signal.signal(number, handler)


@pytest.mark.parametrize("number", StopRequest.SIGNALS)
def test_the_first_signal_asks(number):
    with StopRequest() as stop:
        assert not stop.asked
        signal.raise_signal(number)
        assert stop.asked


@pytest.fixture
def listens():
    """Ctrl-C acts as at a terminal, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", StopRequest.SIGNALS)
@pytest.mark.usefixtures("listens")
def test_a_ctrl_c_after_the_first_signal_acts(number):
    with pytest.raises(KeyboardInterrupt):
        ask_then_press_ctrl_c(number)


def ask_then_press_ctrl_c(number):
    with StopRequest() as stop:
        signal.raise_signal(number)
        assert stop.asked
        signal.raise_signal(signal.SIGINT)


def test_an_error_inside_gives_the_handlers_back():
    with pytest.raises(RuntimeError, match="inside"), StopRequest():
        raise RuntimeError("inside")


def test_handlers_of_the_caller_are_given_back(request):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    request.addfinalizer(lambda: signal.signal(signal.SIGTERM, before))
    with StopRequest() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.asked
        assert heard == []
    signal.raise_signal(signal.SIGTERM)
    assert heard == [signal.SIGTERM]
    signal.signal(signal.SIGTERM, before)


def test_another_thread_leaves_signals_alone():
    seen = []

    def work():
        with StopRequest() as stop:
            seen.append((stop.asked, signal.getsignal(signal.SIGINT)))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, before)]
