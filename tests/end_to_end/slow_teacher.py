"""A teacher whose shards are small and take a while, so that a run can be stopped among them."""

import time

from running import softquery

SLOW_TEACHER = """
import time
from softquery.cli import main
from softquery.running.distilling import teacher
teacher.SHARD = 64
plain = teacher.write_array
def write(path, array):
    plain(path, array)
    time.sleep(0.05)
teacher.write_array = write
"""
"""Code for `start_warm`: shards of 64 rows, each of which takes a while."""


def wait_until(condition, process):
    """Wait as long as the process runs."""
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)


def refused(*words: object) -> str:
    """The one line by which a command is refused."""
    answer = softquery(*words)
    assert answer.code == 2, (answer.out, answer.err)
    assert answer.err.count("softquery: ") == 1, answer.err
    assert answer.out == ""
    return answer.err.rpartition("softquery: ")[2].strip()
