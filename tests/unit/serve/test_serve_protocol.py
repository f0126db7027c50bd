"""Answers whose first bytes are sent before the others."""

import pytest

pytest.importorskip("fastapi", reason="the server needs the extra [serve]")

from softquery.serve.protocol import BEGINNING, BegunTransport

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Kept:
    def __init__(self):
        self.data, self.closed = b"", False

    def write(self, data):
        self.data += data

    def close(self):
        self.closed = True


@pytest.mark.parametrize("num_early", range(12))
@pytest.mark.parametrize("size", [1, 5, 9, 100])
def test_an_answer_is_the_same_however_much_of_it_was_sent_early(num_early, size):
    kept = Kept()
    transport = BegunTransport(kept)
    for _ in range(num_early):
        transport.begin()
    assert kept.data == BEGINNING[:num_early]
    for start in range(0, len(ANSWER), size):
        transport.write(ANSWER[start : start + size])
    assert kept.data == ANSWER
    transport.close()
    assert kept.closed
