"""Say of Chinese pages that they are Chinese: a hook for MkDocs, whose theme has one language.

Without it browsers draw Chinese characters in their Japanese forms, and screen readers read them
as English.
"""

from typing import Any

ENGLISH, CHINESE = '<html lang="en"', '<html lang="zh-CN"'


def is_chinese(source: str) -> bool:
    """Whether a page is in Chinese, by where its source lies.

    >>> is_chinese("zh/models/esim.md"), is_chinese("tutorials/soft-dictionary-zh.md")
    (True, True)
    >>> is_chinese("models/esim.md")
    False
    """
    return source.startswith("zh/") or source.endswith("-zh.md")


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The finished page, with its own language."""
    return output.replace(ENGLISH, CHINESE, 1) if is_chinese(page.file.src_uri) else output
