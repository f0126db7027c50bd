"""Settings of a server: what they mean, and which values are refused."""

import subprocess
import sys

import pytest

from softquery.errors import ConfigError
from softquery.serve import Limits, Settings


def test_settings_survive_the_environment():
    settings = Settings(
        models=("match-en", "b=c"), indexes=("faq.sq",), cors=("https://a.org",), threads=3,
        limits=Limits(queue=7, timeout=1.5),
    )  # fmt: skip
    assert Settings.from_json(settings.to_json()) == settings


def test_models_and_indexes_have_names():
    settings = Settings(
        models=("match-en", "embed=elmo-en", "/models/mine/"), indexes=("data/faq.sq", "b=x.sq")
    )
    assert settings.named_models() == {
        "match-en": "match-en",
        "embed": "elmo-en",
        "mine": "/models/mine/",
    }
    assert settings.named_indexes() == {"faq": "data/faq.sq", "b": "x.sq"}


def test_threads_are_shared_by_workers(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert Settings(models=("a",)).num_threads == 8
    assert Settings(models=("a",), workers=3).num_threads == 2
    assert Settings(models=("a",), workers=30).num_threads == 1
    assert Settings(models=("a",), workers=3, threads=5).num_threads == 5


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"models": ()}, "nothing to serve: give --model or --index"),
        ({"port": 70_000}, "port must be from 0 to 65535, got 70000"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"drain": float("nan")}, "drain must be a number of seconds"),
        ({"cors": ("example.org",)}, "cors takes origins such as https://example.org"),
    ],
)
def test_settings_that_do_not_fit_are_refused(fields, said):
    with pytest.raises(ConfigError, match=said):
        Settings(**{"models": ("match-en",), **fields})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"queue": 0}, "queue must be at least 1, got 0"),
        ({"max_body": -1}, "max_body must be at least 1"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0, got 0"),
        ({"timeout": float("inf")}, "timeout must be a number"),
    ],
)
def test_limits_that_do_not_fit_are_refused(fields, said):
    with pytest.raises(ConfigError, match=said):
        Limits(**fields)


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (("a", "b/a"), "two --model values are called 'a'; rename one: --model NAME=b/a"),
        (("=a",), "--model takes NAME or NAME=FOLDER, got '=a'"),
        (("a=",), "--model takes NAME or NAME=FOLDER, got 'a='"),
    ],
)
def test_names_that_do_not_fit_are_refused(models, said):
    with pytest.raises(ConfigError, match=said):
        Settings(models=models).named_models()


def test_the_package_imports_nothing_foreign():
    code = "import softquery.serve, sys; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in result.stdout.split()}
    assert loaded & {"fastapi", "uvicorn", "pydantic", "prometheus_client", "torch"} == set()


def test_a_missing_extra_is_named():
    code = (
        "import sys\nsys.modules['fastapi'] = None\n"
        "from softquery.errors import MissingExtra\nimport softquery.serve\n"
        "try:\n    softquery.serve.serve\nexcept MissingExtra as error:\n    print(error)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install "softquery[serve]"' in result.stdout
