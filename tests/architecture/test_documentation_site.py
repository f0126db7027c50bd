"""The documentation builds without a warning, and asks nobody for anything when it is read."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from repository import ROOT

pytest.importorskip("mkdocs", reason="the site is built with the extra [docs]")
if sys.version_info < (3, 11):
    pytest.skip("the tools that build the site need Python 3.11", allow_module_level=True)

pytestmark = pytest.mark.slow

REQUEST = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"?(https?:)?//[^>]*>")

BUILD = """
import logging
import sys
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.utils.yaml import yaml_load

with open("mkdocs.yml", "rb") as file:
    plugins = [each for each in yaml_load(file)["plugins"] if each != "search"]
(options,) = (each["mkdocstrings"]["handlers"]["python"]["options"] for each in plugins)
options["show_source"] = False
logging.basicConfig()
build(load_config("mkdocs.yml", strict=True, site_dir=sys.argv[1], plugins=plugins))
"""
"""As `mkdocs build --strict`, without the words to search for and the listings of all sources,
which take half of the time and warn of nothing; `make docs` has both."""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-c", BUILD, str(folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return folder


def test_every_page_is_built(site):
    pages = {path.relative_to(site).parent.as_posix() for path in site.rglob("index.html")}
    written = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
    }
    assert {name.removesuffix("index").rstrip("/") or "." for name in written} <= pages


def test_reading_needs_no_other_server(site):
    pages = [path.read_text(encoding="utf-8") for path in site.rglob("*.html")]
    requests = [found[0] for page in pages for found in REQUEST.finditer(page)]
    assert [each for each in requests if 'rel="canonical"' not in each] == []


def test_chinese_pages_say_that_they_are_chinese(site):
    for page, language in (("zh", "zh-CN"), ("tutorials/soft-dictionary-zh", "zh-CN"), (".", "en")):
        assert f'<html lang="{language}"' in (site / page / "index.html").read_text("utf-8")
