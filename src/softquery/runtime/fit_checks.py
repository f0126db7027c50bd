"""Whether the parts of a bundle fit each other: vocabulary, model and task. Needs no torch."""

from typing import get_args

from softquery.answers import Calibration, ReadingRules, TagSet
from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError
from softquery.measure import ClassMetric, relations_of
from softquery.runtime.classify.backend import reading_of
from softquery.runtime.graphs import reading_settings
from softquery.text import TextConfig, TextInput, TextPipeline


def fitting_pipeline(bundle: Bundle) -> TextPipeline:
    """A bundle's text pipeline, refused where the model was made for another vocabulary."""
    try:
        config = TextConfig.from_dict(bundle.config.text)
    except ConfigError as error:
        raise BundleError(f"{bundle.path / 'config.json'}: {error}") from None
    pipeline = TextPipeline.load(bundle.path, config)
    sizes = reading_settings(bundle.config.model["config"])
    expected = sizes.get("vocab_size", sizes.get("target_vocab_size"))
    if config.unit == "bert" and pipeline.vocab_size < (expected or 0):
        return pipeline  # published tables often end in rows that nothing is numbered by
    if pipeline.vocab_size != expected:
        raise BundleError(
            f"{bundle.tokenizer_path}: holds {pipeline.vocab_size} entries, "
            f"but config.json says {expected}"
        )
    return pipeline


def fitting_source_pipeline(bundle: Bundle, target: TextPipeline) -> TextPipeline:
    """By what a generator reads its sources: a vocabulary of their own, or the target's."""
    path, expected = bundle.source_tokenizer_path, bundle.config.model["config"]
    expected = expected.get("source_vocab_size")
    pipeline = target
    if path is not None:
        pipeline = TextPipeline.load(path.parent, target.config, name=path.name)
    if pipeline.vocab_size != expected:
        raise BundleError(
            f"{path or bundle.tokenizer_path}: holds {pipeline.vocab_size} entries, "
            f"but config.json says {expected} for the source"
        )
    return pipeline


def fitting_calibration(bundle: Bundle) -> Calibration:
    """A bundle's calibration, refused where it was made for other labels."""
    labels = bundle.config.task.get("labels", ())
    try:
        found = Calibration.from_dict(bundle.calibration)
        if found.bias is not None and len(found.bias) != len(labels):
            raise BundleError(
                f"calibration.json: bias has {len(found.bias)} numbers for {len(labels)} labels"
            )
    except BundleError as error:
        raise BundleError(f"{bundle.path}/{error}") from None
    return found


def fitting_reading(bundle: Bundle) -> TextInput:
    """How a classifier reads its texts, refused where its settings say nothing sensible."""
    settings = bundle.config.model["config"]
    for name in ("max_sentences", "max_characters"):
        value = settings.get(name, 1)
        if type(value) is not int or not (name == "max_sentences") <= value <= MOST_CHARACTERS:
            raise BundleError(
                f"{bundle.path / 'config.json'}: {name} must be a whole number, got {value!r:.40}"
            )
    return reading_of(settings)


MOST_CHARACTERS = 1 << 12
"""The most characters of a word that a model may want to be spelt; ELMo reads 50."""


def check_characters(count: int) -> int:
    """A model's `max_characters`, refused with a `ValueError` where no memory could hold it."""
    if not 0 < count <= MOST_CHARACTERS:
        raise ValueError(f"max_characters must be from 1 to {MOST_CHARACTERS:,}, got {count}")
    return count


def num_labels(task: dict[str, object]) -> int:
    """How many outputs a choice among labels needs."""
    labels = task.get("labels")
    if not isinstance(labels, (list, tuple)) or not 1 < len(set(labels)) == len(labels):
        raise ValueError(f"task.labels must be two or more different names, got {labels!r:.80}")
    return len(labels)


def num_classes(task: dict[str, object]) -> int:
    """How many outputs a classifier needs, whose metric must fit its labels."""
    metric = task.get("metric", "accuracy")
    if metric not in get_args(ClassMetric):
        raise ValueError(f"task.metric must be one of {', '.join(get_args(ClassMetric))}")
    if metric == "relation_f1" and not relations_of(task.get("labels", ())):  # type: ignore[arg-type]
        raise ValueError("task.labels must name a relation")
    return num_labels(task)


def num_grades(task: dict[str, object]) -> int:
    """How many outputs a grade on a scale needs: one."""
    low, high = task.get("low"), task.get("high")
    if not (isinstance(low, (int, float)) and isinstance(high, (int, float)) and low < high):
        raise ValueError(f"task.low must be under task.high, got {low!r} and {high!r}")
    return 1


def num_outputs_of_a_generator(task: dict[str, object]) -> None:
    """None: a generator has the outputs of its vocabulary, which is checked with it."""
    form = task.get("form", "free")
    if form not in ("free", "couplet"):
        raise ValueError(f"task.form must be free or couplet, got {form!r:.80}")


def num_ends(task: dict[str, object]) -> int:
    """How many outputs a reader needs for each word: where an answer starts, and where it ends."""
    ReadingRules.from_dict(task)
    return 2


def num_tags(task: dict[str, object]) -> int:
    """How many outputs a tagger needs for each word."""
    return len(TagSet.from_dict(task).labels)


def any_width(task: dict[str, object]) -> None:
    """None: a sentence's vector may have any width, and `prefixes` at which it may be cut."""
    prefixes = task.get("prefixes", [])
    if not (
        isinstance(prefixes, (list, tuple))
        and all(type(width) is int and width > 0 for width in prefixes)
        and list(prefixes) == sorted(set(prefixes))
    ):
        raise ValueError(f"task.prefixes must be growing whole numbers, got {prefixes!r:.80}")
