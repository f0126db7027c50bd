"""Fonts for PNG: matplotlib's own has no Chinese, so one is looked for among those installed."""

import warnings
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

_OWN = "DejaVu Sans"
"""The font that comes with matplotlib."""

_WITH_HAN = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Hiragino Sans GB",
    "Heiti SC",
    "STHeiti",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Noto Sans CJK JP",
    "Noto Sans CJK TC",
    "Arial Unicode MS",
    "SimSun",
    "Noto Serif CJK SC",
)
"""Families that hold Han characters, the better looking first."""

_FILE_NAMES = (
    *("cjk", "sourcehan", "notosanssc", "pingfang", "hei", "msyh", "simsun", "wqy"),
    *("droidsansfallback", "arialuni"),
)
"""Parts of the names of their files, in small letters and without hyphens."""


def families_for(texts: Iterable[str]) -> list[str]:
    """Families that together can draw the texts; warns, in one line, where they cannot.

    matplotlib takes each character from the first family of the list that has it.
    """
    needed = {ord(each) for text in texts for each in text if not each.isspace()}
    missing = needed - _characters(_OWN)
    families = [_OWN]
    if missing:
        _add_new_fonts()
    for family in _WITH_HAN if missing else ():
        if _is_installed(family) and missing & _characters(family):
            families.append(family)
            missing -= _characters(family)
    if missing:
        example = chr(min(missing))
        warnings.warn(
            f"no installed font has {example!r} and {len(missing) - 1} other characters, which may"
            " show as boxes in the PNG; .svg and .html use the reader's own fonts",
            stacklevel=2,
        )
    return families


@lru_cache(maxsize=32)
def _characters(family: str) -> frozenset[int]:
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(findfont(FontProperties(family=[family]))).get_charmap())


def _is_installed(family: str) -> bool:
    from matplotlib.font_manager import fontManager

    return any(entry.name == family for entry in fontManager.ttflist)


@lru_cache(maxsize=1)
def _add_new_fonts() -> None:
    """Look for fonts that were installed after matplotlib wrote its list of them."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    known = {entry.fname for entry in fontManager.ttflist}
    for path in sorted(findSystemFonts()):
        name = Path(path).stem.lower().replace("-", "").replace("_", "")
        if path not in known and any(part in name for part in _FILE_NAMES):
            try:
                fontManager.addfont(path)
            except (OSError, RuntimeError):  # a damaged font is no reason to draw nothing
                continue
