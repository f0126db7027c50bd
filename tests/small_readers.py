"""Small readers with random weights, with and without a biLM inside, made in a moment."""

import random
from pathlib import Path
from typing import Any

import torch

from elmo_cases import ElmoCase
from softquery.answers import ReadingRules
from softquery.bundle import BundleConfig, read_bundle, weights_fingerprint, write_bundle
from softquery.export import ExportReport, export_reader
from softquery.files import AskedQuestion, GoldAnswer
from softquery.models import BiDaf, BiDafConfig, Elmo, SpellingConfig
from softquery.nn import ElmoEmbedder, ElmoSettings
from softquery.runtime.inner.inner_weights import base_weights
from softquery.runtime.torch_models import config_of
from softquery.text import TextConfig, TextPipeline, build_pipeline
from softquery.zoo import resolve

WORDS = [f"w{number}" for number in range(60)]
RULES = {"max_words": 6, "step": 12, "max_question": 8}


def make_reader(
    folder: Path,
    *,
    size: int = 8,
    seed: int = 1,
    max_tokens: int = 20,
    spelling: dict[str, Any] | None = None,
    elmo: dict[str, Any] | None = None,
    bilm: Elmo | None = None,
    base: str | None = None,
    **settings: Any,
) -> Path:
    """A bundle whose answers differ from question to question; all of its weights are random.

    With a biLM inside where `elmo` says how it is used; a head where it names a base.
    """
    pipeline = build_pipeline([" ".join(WORDS)], TextConfig(max_tokens=max_tokens))
    embedder = None
    if elmo is not None:
        inside = bilm or ElmoCase(softmax={"kind": "none"}).build()
        embedder = _embedder(ElmoSettings(bundle=base or "tiny", **elmo), inside, pipeline, size)
        longest = inside.config.characters.max_characters
        spelling = {"max_characters": longest, **(spelling or {})}
    torch.manual_seed(seed)
    characters = {"size": 4, "output_size": size, "width": 3, "max_characters": 9}
    config = BiDafConfig(
        vocab_size=pipeline.vocab_size,
        embedding_size=size,
        hidden_size=size,
        spelling=SpellingConfig(**{**characters, **(spelling or {})}),
        **settings,
    )
    model = BiDaf(config, embedder)
    for name, parameter in model.named_parameters():
        if name.startswith("embedder.bilm."):
            continue
        if "bias" in name or name.startswith("embedder.mixes."):
            torch.nn.init.normal_(parameter, std=0.3)
        elif name.startswith(("head.", "meeting.")):
            torch.nn.init.normal_(parameter, std=1.0)
    rules = ReadingRules(no_answer=config.no_answer, **RULES)
    found = None if base is None else base_weights(read_bundle(resolve(base)))
    return write_bundle(
        folder,
        config=BundleConfig(
            kind="reader",
            model={"name": "bidaf", "config": config_of(model)},
            task={"name": "read", **rules.to_dict()},
            text=pipeline.config.to_dict(),
            library_version="0.1.0",
            base=base,
            base_fingerprint=None if found is None else weights_fingerprint(found),
        ),
        tokenizer_json=pipeline.tokenizer.to_str(),
        weights={
            key: value.numpy()
            for key, value in model.state_dict().items()
            if found is None or not key.startswith("embedder.bilm.")
        },
        metrics={"f1": 0.5},
        card="# small\n\nA reader of random weights.\n",
    )


def _embedder(
    settings: ElmoSettings, bilm: Elmo, pipeline: TextPipeline, size: int
) -> ElmoEmbedder:
    longest = bilm.config.characters.max_characters
    characters = torch.zeros(0, longest, dtype=torch.int16)
    return settings.embedder(
        bilm, characters, word_size=size, ends="added", num_words=pipeline.vocab_size
    )


def exported_reader(bundle: Path, output: Path, **options: Any) -> ExportReport:
    """Export a bundle to another place."""
    return export_reader(read_bundle(bundle), output, **options)


def text(draw: random.Random, length: int) -> str:
    """Some words of the vocabulary, and now and then one that it does not know."""
    return " ".join(draw.choice([*WORDS, "Unheard", "naïve"]) for _ in range(length))


def random_questions(count: int, *, seed: int = 1, longest: int = 50) -> list[tuple[str, str]]:
    """Questions of one word to ten, contexts of one to `longest`, some of them asked twice."""
    draw = random.Random(seed)
    contexts = [text(draw, draw.randint(1, longest)) for _ in range(-(-count * 2 // 3))]
    return [
        (text(draw, draw.randint(1, 10)), contexts[place % len(contexts)]) for place in range(count)
    ]


def answered(pairs: list[tuple[str, str]]) -> list[AskedQuestion]:
    """Each question with its context's first word for an answer."""
    return [
        AskedQuestion(
            id=str(number),
            question=question,
            context=context,
            answers=(GoldAnswer(context.split()[0], 0),),
            number=1,
            source="rows.json",
        )
        for number, (question, context) in enumerate(pairs)
    ]
