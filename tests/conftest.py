"""While tests run, every tensor that crosses a signature is checked for its shape and dtype."""

import gc
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from quickened import draw_curves_once, flush_nothing, parse_with_one_parser

TESTS = Path(__file__).parent

CHECKED = [
    "softquery.attention",
    "softquery.data",
    "softquery.models",
    "softquery.nn",
    "softquery.tasks",
]

NEED_TORCH = [
    "contract/*",
    "parity/*",
    *(f"unit/{layer}/*" for layer in ("attention", "data", "models", "nn", "tasks", "training")),
]

# By name and before anything is imported, so that the installed package is checked as well.
if find_spec("jaxtyping") and find_spec("beartype"):
    from jaxtyping import install_import_hook

    install_import_hook(CHECKED, "signature_checks.checked")

collect_ignore_glob = [] if find_spec("torch") else NEED_TORCH


def wants_endurance(config):
    """What takes far longer than all other tests is run where it is named: `make endurance`."""
    return any("endurance" in word for word in (*config.args, config.option.markexpr))


def pytest_ignore_collect(collection_path, config):
    return None if wants_endurance(config) or collection_path.name != "endurance" else True


def pytest_configure(config):
    """Modules and tests stay to the end: nothing of them is rubbish, and looking takes seconds."""
    config.addinivalue_line(
        "markers", "endurance: far more of what quick tests do; run by its name"
    )
    interruptible()
    gc.disable()
    flush_nothing()
    parse_with_one_parser()
    draw_curves_once()


def interruptible():
    """A shell's background job ignores Ctrl+C, and so would every process that tests interrupt."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


FIRST = ("architecture", "end_to_end", "recipes", "shipped", "parity", "contract", "unit")
"""Folders by what their files take: with the short ones last, no process ends long before another.

It needs `--no-loadscope-reorder`; by itself xdist begins with the files of most tests.
"""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items, config):
    left_out = [item for item in items if item.get_closest_marker("endurance")]
    if left_out and not wants_endurance(config):
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    ranks = {name: rank for rank, name in enumerate(FIRST)}

    def order(item):
        folder = item.path.relative_to(TESTS).parts[0] if TESTS in item.path.parents else ""
        return item.path not in slow, ranks.get(folder, len(ranks))

    items.sort(key=order)


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Tensors of tests are tiny: a second thread would be waited for longer than it works."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
