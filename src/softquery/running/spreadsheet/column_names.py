"""What columns are called by those who make them: which names say what a column is for."""

import re


def _names(words: str) -> tuple[str, ...]:
    return tuple(words.split())


TEXT_NAMES = _names(
    "text sentence message question query utterance title body content review comment description "
    "headline subject tweet post phrase input document request email mail summary article snippet "
    "文本 句子 内容 问题 标题 评论 消息 正文 文章 描述 留言 问句 语句 邮件 反馈"
)
"""The first that a table has is taken."""
LABEL_NAMES = _names(
    "label class category intent topic sentiment tag target type department team queue output y "
    "polarity stance emotion rating stars gold goldlabel answer "
    "标签 类别 分类 意图 情感 主题 话题 类型 种类 部门 极性"
)
FIRST_NAMES = _names(
    "sentence1 question1 text1 s1 q1 texta sentencea premise query first a left question source "
    "句子1 问题1 文本1 句子一 问题一 文本一"
)
"""Of the first side of a pair; the name at the same place in `SECOND_NAMES` goes with it."""
SECOND_NAMES = _names(
    "sentence2 question2 text2 s2 q2 textb sentenceb hypothesis document second b right answer "
    "target 句子2 问题2 文本2 句子二 问题二 文本二"
)
PAIR_LABEL_NAMES = _names(
    "label isduplicate duplicate isparaphrase paraphrase same similar match matches equivalent "
    "goldlabel gold class category relation target output y "
    "标签 是否相同 相同 相似 是否匹配 类别"
)
WORDS_NAMES = _names("tokens words text sentence content 词语 字符 文本 句子 内容")
"""Of all words of a sentence, in one cell."""
TAGS_NAMES = _names("tags nertags postags labels ner tag label entities 标签 标注 实体")
"""Of the tags of a sentence in one cell, or of a word."""
WORD_NAMES = _names("word token form character char 词 字 单词 字符")
"""Of one word in each row."""
SENTENCE_NAMES = _names(
    "sentence sentenceid sentenceno sentid sid sent sentencenumber 句子 句号 句子编号 句id"
)
"""Of what tells the sentence of a word."""
_FILLING = re.compile(r"[\s_\-./()（）:：#?？]+")


def plain_name(name: str) -> str:
    """A column's name as the lists here spell it.

    >>> plain_name("Sentence 1"), plain_name("Is duplicate?"), plain_name(" 文本 ")
    ('sentence1', 'isduplicate', '文本')
    """
    return _FILLING.sub("", name).lower()


def is_known(name: str) -> bool:
    """Whether a word is the name of a column that is read."""
    return plain_name(name) in _KNOWN


_KNOWN = frozenset(
    {
        *TEXT_NAMES,
        *LABEL_NAMES,
        *FIRST_NAMES,
        *SECOND_NAMES,
        *PAIR_LABEL_NAMES,
        *WORDS_NAMES,
        *TAGS_NAMES,
        *WORD_NAMES,
        *SENTENCE_NAMES,
        "id",
    }
)
