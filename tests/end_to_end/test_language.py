"""The command line in Chinese: help, tables, errors; what machines read stays as it is."""

import re
from pathlib import Path

import pytest
from running import softquery
from typer.main import get_command

from softquery.cli import app
from softquery.cli.terminal.console import print_table
from softquery.language import localised, speaking

CHINESE = re.compile("[\u4e00-\u9fff]")
PAIR = ("match", "花呗怎么提额", "如何提高花呗额度", "--model", "match-zh")
COUPLETS = Path(__file__).parents[2] / "packages/softquery-models/src/softquery_models/couplet-zh"
WORD = re.compile(r"[A-Za-z]{3,}")


def verbs(command=None, path=()):
    command = command or get_command(app)
    yield path
    for name, each in getattr(command, "commands", {}).items():
        yield from verbs(each, (*path, name))


@pytest.fixture
def chinese(monkeypatch):
    monkeypatch.setenv("SOFTQUERY_LANG", "zh_CN")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def english(monkeypatch):
    monkeypatch.setenv("SOFTQUERY_LANG", "en")
    monkeypatch.setenv("COLUMNS", "200")


def english_lines(text):
    """Lines of four English words or more that nothing Chinese stands beside."""
    return [
        line
        for line in text.splitlines()
        if len(WORD.findall(line)) >= 4 and not CHINESE.search(line)
    ]


@pytest.mark.parametrize("path", [*verbs()], ids=lambda path: " ".join(path) or "softquery")
def test_every_help_is_chinese(path, chinese):
    answer = softquery(*path, "--help")
    assert answer.code == 0, answer.err
    assert answer.out.count("显示本帮助并退出") == 1
    shown = [line for line in english_lines(answer.out) if "softquery " not in line]
    assert [line for line in shown if "pip install" not in line and "[OPTIONS]" not in line] == []


def test_long_help_in_chinese_is_whole_on_a_narrow_terminal(chinese, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = "".join(CHINESE.findall(softquery("distill", "--help").out))
    with speaking("zh_CN"):
        told = [localised(each.help) for each in get_command(app).commands["distill"].params]
    assert len(told) > 10
    assert [text for text in told if "".join(CHINESE.findall(text)) not in shown] == []


def test_help_is_english_again_afterwards(chinese, monkeypatch):
    assert "判断两个句子" in softquery("match", "--help").out
    monkeypatch.setenv("SOFTQUERY_LANG", "en")
    assert not CHINESE.search(softquery("match", "--help").out)


def test_a_table_is_chinese(chinese):
    answer = softquery(*PAIR)
    assert (answer.code, answer.err) == (0, "")
    assert "标签" in answer.out
    assert "概率" in answer.out
    assert "probability" not in answer.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("match", "一句"), "请给出两个句子，各用引号括起"),
        (("match",), "请给出以下之一：两个句子，或 --pairs FILE"),
        (("match", "a", "b", "--treads", "2"), "没有选项 --treads"),
        (("rank", "a"), "缺少选项 '--candidates'；请见 softquery rank --help"),
        (
            ("match", "a", "b", "--threads", "0"),
            "'--threads' 的值无效：0 不在范围 x>=1 之内",
        ),
        (("search", "nowhere", "a"), "nowhere：没有这个索引；请用 softquery index"),
        (("serve",), "没有可提供的服务：请给出 --model 或 --index"),
        (("match", "a", "b", "--model", "match-xx"), "没有名为 'match-xx' 的模型；您是不是想用"),
    ],
)
def test_errors_are_chinese_and_codes_stay(words, said, chinese, monkeypatch):
    answer = softquery(*words)
    assert answer.err.startswith(f"softquery: {said}")
    monkeypatch.setenv("SOFTQUERY_LANG", "en")
    assert softquery(*words).code == answer.code == 2


def test_a_row_is_named_in_chinese(chinese, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("sentence1\tsentence2\na\tb\nc\n", encoding="utf-8")
    answer = softquery("match", "--pairs", path, "--model", "match-zh")
    assert answer.err == (
        f"softquery: {path}，第 3 行：应有 2 列（sentence1, sentence2），实为 1\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        (*PAIR, "--json"),
        ("models", "--json"),
        ("match", "one", "--json"),
        ("doctor", "--no-speed", "--json"),
    ],
    ids=" ".join,
)
def test_what_machines_read_stays(words, chinese, monkeypatch):
    told = softquery(*words)
    monkeypatch.setenv("SOFTQUERY_LANG", "en")
    plain = softquery(*words)
    without_load = re.compile(r'"load": [\d.]+')
    assert without_load.sub("", told.out) == without_load.sub("", plain.out)
    assert (told.code, told.err) == (plain.code, plain.err)


@pytest.mark.parametrize("language", ["fr", "C", "xx_XX.UTF-8", "../zh"])
def test_an_unknown_language_is_english(language, monkeypatch):
    monkeypatch.setenv("SOFTQUERY_LANG", language)
    assert softquery("match").err == ("softquery: give either two sentences, or --pairs FILE\n")


def test_the_locale_decides_where_nothing_else_does(monkeypatch):
    monkeypatch.delenv("SOFTQUERY_LANG", raising=False)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert CHINESE.search(softquery("match").err)


def test_doctor_is_chinese(chinese):
    shown = softquery("doctor", "--no-speed").out
    assert "处理器" in shown
    assert english_lines(shown) == []


@pytest.mark.parametrize("name", ["match-zh", "embed-zh", COUPLETS])
def test_a_chinese_model_has_a_card_in_chinese(name, chinese, monkeypatch):
    told = softquery("models", name)
    assert told.out.startswith(f"# {Path(name).name}\n"), told.err
    assert "## 局限" in told.out
    in_json = softquery("models", name, "--json").out
    monkeypatch.setenv("SOFTQUERY_LANG", "en")
    assert "## Limits" in softquery("models", name).out
    assert in_json == softquery("models", name, "--json").out


def test_names_from_data_are_not_translated(chinese, capsys):
    """A class may be called what a heading of ours is called."""
    with speaking("zh_CN"):
        print_table("answers", ("label",), [("word", 1)], names=("label",))
    heads = capsys.readouterr().out.splitlines()
    assert heads[0] == "answers"
    assert re.findall(r"[\w\u4e00-\u9fff]+", heads[2]) == ["标签", "label"]
