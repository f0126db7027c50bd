"""How a text is found by its English words: filled in, after a place, within another one."""

import pytest

from softquery.language.text_catalogue import PLACE, TextCatalogue, is_open, open_catalogue

TEXTS = {
    "holds no rows": "没有任何行",
    "expected {count}, found {fields}": "应有{count}，实为{fields}",
    "expected a mapping, found {kind}": "应为映射，实为 {kind}",
    "{number} column": "{number} 列",
    "{number} columns": "{number} 列",
    "unknown name {name}{hint}": "未知的名称 {name}{hint}",
    "; did you mean {near}?": "；您是不是想用 {near}？",
    "{name} is {value}, expected text": "{name} 为 {value}，应为文本",
    "{second} after {first}": "先 {first} 后 {second}",
    PLACE: "{source}，第 {row} 行",
}


@pytest.fixture(scope="module")
def catalogue():
    return TextCatalogue(TEXTS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("holds no rows", "没有任何行"),
        ("a b.tsv: holds no rows", "a b.tsv：没有任何行"),
        ("a.tsv, row 1,200: holds no rows", "a.tsv，第 1,200 行：没有任何行"),
        ("a.tsv, row 7: expected 3 columns, found 2 columns", "a.tsv，第 7 行：应有3 列，实为2 列"),
        ("unknown name 'x'", "未知的名称 'x'"),
        ("unknown name 'x'; did you mean 'y'?", "未知的名称 'x'；您是不是想用 'y'？"),
        ("two words after one word", "先 one word 后 two words"),
    ],
)
def test_a_text_is_found(catalogue, text, told):
    assert catalogue.localise(text) == told


def test_of_several_texts_that_fit_the_one_that_says_most_is_taken(catalogue):
    assert catalogue.localise("expected a mapping, found a list") == "应为映射，实为 a list"


@pytest.mark.parametrize(
    "text",
    ["", "columns", "what nobody has ever said", "a: b: c", "holds no rows at all", "x" * 9999],
)
def test_what_is_not_known_stays(catalogue, text):
    assert catalogue.localise(text) == text


def test_a_single_word_that_was_filled_in_is_a_name(catalogue):
    known = TextCatalogue({**TEXTS, "label": "标签"})
    assert known.localise("label") == "标签"
    assert known.localise("label is 3, expected text") == "label 为 3，应为文本"


def test_names_in_braces_of_data_are_not_filled_in_again(catalogue):
    assert catalogue.localise("unknown name '{hint}'") == "未知的名称 '{hint}'"


def test_a_text_of_holes_alone_is_open():
    assert is_open("{a}: {b}")
    assert not is_open("by {name}")
    assert not is_open("holds no rows")


def test_the_catalogue_is_read_once():
    assert open_catalogue("zh_CN") is open_catalogue("zh_CN")


def test_a_single_word_stays_unless_it_is_a_language():
    catalogue = TextCatalogue({
        "the text is in {language}": "文本是{language}",
        "the model is {name}": "模型是 {name}",
        "English": "英文",
    })  # fmt: skip
    assert catalogue.localise("the text is in English") == "文本是英文"
    assert catalogue.localise("the text is in Klingon") == "文本是Klingon"
    assert catalogue.localise("the model is English") == "模型是 English"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("--split must be words or spaces, got 'a'", "--split 须为 words 或 spaces，得到的是 'a'"),
        (
            "the query is in English, which match-zh and embed-zh do not read; scores mean little",
            "查询的语言是英文，match-zh 和 embed-zh 都不支持；得分没有多大意义",
        ),
        (
            "12 rows are in English, 3 in Chinese, 1 in Japanese, which match-en does not read",
            "12 行是英文，3 行是中文，1 行是日文，match-en 不支持",
        ),
        ("the texts, row 2: is empty", "文本，第 2 行：是空的"),
        ("salt and pepper.tsv: holds no rows", "salt and pepper.tsv：没有任何行"),
    ],
)
def test_lists_and_what_an_error_is_about_are_in_chinese(text, told):
    assert open_catalogue("zh_CN").localise(text) == told


def test_a_name_with_a_space_is_no_list():
    catalogue = TextCatalogue({"known are {names}": "已知：{names}", " and ": " 和 ", ", ": "、"})
    assert catalogue.localise("known are a, b and c") == "已知：a、b 和 c"
    assert catalogue.localise("known are bread and salt water") == "已知：bread and salt water"
