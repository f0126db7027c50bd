"""The frozen sentence encoder of a head: chosen by the language of the texts, or named."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from softquery.bundle import Bundle, read_bundle
from softquery.bundle.card import card_languages
from softquery.errors import ConfigError, counted
from softquery.recipes.few_labels import HeadSettings
from softquery.running.run_options import Say
from softquery.runtime.classify.sentence_head import WindowedVectors, open_vectors
from softquery.runtime.fit_checks import fitting_pipeline
from softquery.runtime.graphs import reading_settings
from softquery.runtime.kinds import check_kind, check_task
from softquery.text import TextPipeline, language_name, language_of
from softquery.zoo import entries, resolve
from softquery.zoo.by_language import SHIPPED_ENCODERS

MOST_OTHERS = 0.1
"""Share of texts in other languages, above which a run warns."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadEncoder:
    """An encoder, and how a head reads by it."""

    name: str
    bundle: Bundle
    base: str | None
    """The name under which the head will find it; None where its bundle is to hold it."""
    pipeline: TextPipeline
    """As the head reads, which is longer than the encoder does."""
    texts: WindowedVectors
    languages: tuple[str, ...]
    warnings: list[str]
    state: Literal["frozen", "fine-tuned"] = "frozen"
    """What was done to it."""

    @property
    def vocab_size(self) -> int:
        """Pieces of its table."""
        return int(reading_settings(self.bundle.config.model["config"])["vocab_size"])

    def ids(self, texts: Sequence[str], split: str, say: Say) -> list[list[int]]:
        """The tokens of texts; what is cut is told."""
        ids, cuts = self.pipeline.encode_ids_with_cuts(texts)
        if num_cut := sum(cut > 0 for cut in cuts):
            many = counted(num_cut, "text was", "texts were")
            say(f"{split}: {many} cut at {self.pipeline.config.max_tokens:,} tokens")
        return [list(each) for each in ids]


def choose_encoder(
    name: str, texts: Sequence[str], settings: HeadSettings, say: Say
) -> HeadEncoder:
    """Open the encoder of a head.

    Args:
        name: A name from the zoo, or a folder; empty to choose one by the language.
        texts: The training texts.
        settings: How long texts may be.
        say: Receives which encoder it is, and why.

    Raises:
        ConfigError: No encoder is known for the language of the texts.
    """
    counts = Counter(language_of(text) for text in texts)
    reason, warnings = "as named", []
    if not name:
        language = _language(counts)
        name, reason = SHIPPED_ENCODERS[language], f"most texts are in {language_name(language)}"
        warnings = _others(counts, language, name, say)
    bundle = read_bundle(resolve(name))
    check_kind(bundle, "sentence-encoder")
    check_task(bundle)
    base = _zoo_name(bundle.path)
    say(f"encoder: {base or bundle.path} ({reason})")
    own = fitting_pipeline(bundle)
    pipeline = TextPipeline(own.tokenizer, replace(own.config, max_tokens=settings.max_tokens))
    vectors = WindowedVectors(
        encoder=open_vectors(bundle),
        window=min(own.config.max_tokens, settings.max_tokens),
        has_marks=own.config.boundaries,
    )
    found = card_languages(bundle.card) or [
        each for each, one in SHIPPED_ENCODERS.items() if one == base
    ]
    return HeadEncoder(
        name=base or bundle.path.name,
        bundle=bundle,
        base=base,
        pipeline=pipeline,
        texts=vectors,
        languages=tuple(found),
        warnings=warnings,
    )


def _language(counts: Counter[str | None]) -> str:
    """The language of most texts that tell theirs; that of an encoder, or refused."""
    known = Counter({code: count for code, count in counts.items() if code is not None})
    if not known:
        raise ConfigError("the texts do not tell their language; name a sentence encoder by --init")
    language = max(known, key=lambda code: (known[code], code))
    if language not in SHIPPED_ENCODERS:
        raise ConfigError(
            f"most texts are in {language_name(language)}, which no encoder here reads "
            f"({', '.join(SHIPPED_ENCODERS.values())}); name a sentence encoder that does by --init"
        )
    return language


def _others(counts: Counter[str | None], language: str, name: str, say: Say) -> list[str]:
    """A warning of texts that the encoder does not read."""
    others = sum(count for code, count in counts.items() if code not in (None, language))
    if others <= MOST_OTHERS * counts.total():
        return []
    line = (
        f"{others:,} of {counts.total():,} texts are not in {language_name(language)}, and {name} "
        "reads no other language; train on them by themselves, or name another encoder by --init"
    )
    say(f"warning: {line}")
    return [line]


def _zoo_name(path: Path) -> str | None:
    """The name under which a bundle is found wherever its package is installed, if it has one."""
    named = (entry for entry in entries() if entry.problem is None and entry.name == path.name)
    found = next(named, None)
    return path.name if found and found.path.resolve() == path.resolve() else None
