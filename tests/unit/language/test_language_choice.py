"""Which language people are shown, and that English opens no catalogue."""

import subprocess
import sys

import pytest

from softquery.language import (
    current_language,
    language_of,
    language_of_environment,
    localised,
    speaking,
)


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh_CN"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "de_DE.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN"}, "zh_CN"),
        ({"LC_ALL": "", "LC_MESSAGES": "", "LANG": "zh_CN"}, "zh_CN"),
        ({"LC_ALL": "en_US", "SOFTQUERY_LANG": "zh"}, "zh_CN"),
        ({"LC_ALL": "zh_CN", "SOFTQUERY_LANG": "en"}, "en"),
        ({"LC_ALL": "zh_CN", "SOFTQUERY_LANG": "tlh"}, "en"),
    ],
)
def test_the_first_variable_that_is_set_decides(environment, language):
    assert language_of_environment(environment) == language


@pytest.mark.parametrize("locale", ["zh", "zh_CN", "zh-CN", "ZH_cn.GBK", "zh_TW.UTF-8", "zh-Hans"])
def test_all_chinese_is_read_as_chinese(locale):
    assert language_of(locale) == "zh_CN"


@pytest.mark.parametrize("locale", ["zhuang", "", "POSIX", "../../etc", "en_GB"])
def test_what_has_no_catalogue_is_english(locale):
    assert language_of(locale) == "en"


def test_a_program_in_python_speaks_english_whatever_its_locale(monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.delenv("SOFTQUERY_LANG", raising=False)
    assert current_language() == "en"
    monkeypatch.setenv("SOFTQUERY_LANG", "zh_CN")
    assert current_language() == "zh_CN"


def test_a_language_ends_with_its_block(monkeypatch):
    monkeypatch.delenv("SOFTQUERY_LANG", raising=False)
    with speaking("zh_CN"):
        assert localised("holds no rows") == "没有任何行"
        with speaking("en"):
            assert localised("holds no rows") == "holds no rows"
        assert current_language() == "zh_CN"
    assert localised("holds no rows") == "holds no rows"


def test_english_opens_no_catalogue():
    code = (
        "import sys\n"
        "from softquery.language import localised\n"
        "localised('holds no rows')\n"
        "assert 'softquery.language.text_catalogue' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
