"""Opens a bundle once, as `softquery.load` would, before it is packed or added."""

from pathlib import Path

from softquery.bundle import Bundle, read_bundle
from softquery.runtime.classify.backend import is_sentence_head
from softquery.runtime.kinds import kind_of
from softquery.runtime.tag.backend import is_word_head


def try_out(folder: Path) -> Bundle:
    """Make the checks that loading a bundle makes, on the CPU.

    Raises:
        BundleError: It cannot be loaded.
        MissingExtra: It is sound as far as it can be read, but an extra is missing to open it:
            torch for one that was not exported, jieba for Chinese words.
    """
    bundle = read_bundle(folder)
    opener = kind_of(bundle).opener.get()
    if bundle.config.kind == "vectors":
        opener(folder)
    else:
        needs_no_torch = bundle.is_exported or is_sentence_head(bundle) or is_word_head(bundle)
        opener(bundle, device=None if needs_no_torch else "cpu")
    return bundle
