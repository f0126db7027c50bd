"""What importing, forking and first use do to the process around them."""

import os
import subprocess
import sys

import pytest


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-W", "default", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def test_import_is_light():
    heavy = "torch numpy jieba onnxruntime pyarrow matplotlib importlib.resources"
    code = f"import sys, softquery.text; print([n for n in '{heavy}'.split() if n in sys.modules])"
    assert run(code).stdout.strip() == "[]"


def test_import_sets_no_environment_variable():
    code = (
        "import os; old = dict(os.environ); import softquery.text; print(old == dict(os.environ))"
    )
    assert run(code).stdout.strip() == "True"


FORK = """
import os
from softquery.text import TextConfig, build_pipeline
pipeline = build_pipeline(["a b c"], TextConfig())
texts = ["a b c"] * 5000
expected = pipeline.encode_ids(texts)
child = os.fork()
if child == 0:
    os._exit(0 if pipeline.encode_ids(texts) == expected else 1)
print(os.waitpid(child, 0)[1], os.environ.get("TOKENIZERS_PARALLELISM"))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_children_work_and_stay_quiet():
    environment = {key: value for key, value in os.environ.items() if "TOKENIZERS" not in key}
    done = subprocess.run(
        [sys.executable, "-c", FORK],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "0 None"
    assert done.stderr == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("choice", ["true", "false"])
def test_the_users_own_choice_survives_a_fork(choice):
    code = """
import os, softquery.text
child = os.fork()
if child:
    os.waitpid(child, 0)
print(os.environ["TOKENIZERS_PARALLELISM"], flush=True)
"""
    assert run(code, TOKENIZERS_PARALLELISM=choice).stdout.split() == [choice, choice]


def test_jieba_says_nothing_and_writes_nothing(tmp_path):
    pytest.importorskip("jieba")
    code = (
        "from softquery.text import TextConfig, build_pipeline;"
        "print(build_pipeline(['我爱北京天安门'], TextConfig(unit='jieba')).vocab_size)"
    )
    done = run(code, TMPDIR=str(tmp_path))
    assert done.stdout.strip() == "8"
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
