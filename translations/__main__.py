"""`python translations`: bring the catalogues in line with the sources, and compile them.

Texts that are new are added without a translation and listed; those that are gone are taken out.
Translate what is listed in the .po file, and run it again.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "softquery"
sys.path[:0] = [str(ROOT), str(PACKAGE.parent)]

from softquery.language import CATALOGUES  # noqa: E402
from softquery.language.text_catalogue import DOMAIN  # noqa: E402
from translations.po import Entry, compiled, read_po, write_po  # noqa: E402
from translations.wanted import wanted_texts  # noqa: E402


def update(language: str, wanted: dict[str, list[str]]) -> list[str]:
    """Bring a catalogue in line with the sources; the texts that it does not translate."""
    folder = PACKAGE / "language" / language / "LC_MESSAGES"
    source = folder / f"{DOMAIN}.po"
    known = read_po(source) if source.exists() else {}
    entries = [Entry(text, known.get(text, ""), tuple(at)) for text, at in wanted.items()]
    write_po(source, entries, language)
    texts = {entry.text: entry.translation for entry in entries}
    (folder / f"{DOMAIN}.mo").write_bytes(compiled(texts, language))
    return [text for text, told in texts.items() if not told]


def main() -> int:
    """Update all catalogues; 1 where something is left to be translated."""
    wanted = wanted_texts(PACKAGE)
    left = 0
    for language in CATALOGUES.values():
        for text in update(language, wanted):
            left += 1
            print(f"{language}: {text!r}")
    print(f"{len(wanted):,} texts, {left:,} without a translation")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
