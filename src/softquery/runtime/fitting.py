"""Whether the parts of a bundle fit each other: vocabulary, model and task. Needs no torch."""

from softquery.answers import TagSet
from softquery.bundle import Bundle
from softquery.errors import BundleError, ConfigError
from softquery.text import TextConfig, TextPipeline


def fitting_pipeline(bundle: Bundle) -> TextPipeline:
    """A bundle's text pipeline, refused where the model was made for another vocabulary."""
    try:
        config = TextConfig.from_dict(bundle.config.text)
    except ConfigError as error:
        raise BundleError(f"{bundle.path / 'config.json'}: {error}") from None
    pipeline = TextPipeline.load(bundle.path, config)
    expected = bundle.config.model["config"].get("vocab_size")
    if config.unit == "bert" and pipeline.vocab_size < (expected or 0):
        return pipeline  # published tables often end in rows that nothing is numbered by
    if pipeline.vocab_size != expected:
        raise BundleError(
            f"{bundle.tokenizer_path}: holds {pipeline.vocab_size} entries, "
            f"but config.json says {expected}"
        )
    return pipeline


def check_task(bundle: Bundle) -> None:
    """Refuse a task that is not one, or that the model's outputs cannot answer."""
    task = bundle.config.task
    checks = {"match": _num_labels, "grade": _num_grades, "tag": _num_tags}
    place = bundle.path / "config.json"
    if task["name"] not in checks:
        raise BundleError(f"{place}: unknown task {task['name']!r} (known: {', '.join(checks)})")
    try:
        num_answers = checks[task["name"]](task)
    except ValueError as error:
        raise BundleError(f"{place}: {error}") from None
    num_outputs = bundle.config.model["config"].get("output_size")
    if num_outputs != num_answers:
        raise BundleError(
            f"{place}: the model has {num_outputs} outputs, but its task needs {num_answers}"
        )


def _num_labels(task: dict[str, object]) -> int:
    labels = task.get("labels")
    if not isinstance(labels, (list, tuple)) or not 1 < len(set(labels)) == len(labels):
        raise ValueError(f"task.labels must be two or more different names, got {labels!r:.80}")
    return len(labels)


def _num_grades(task: dict[str, object]) -> int:
    low, high = task.get("low"), task.get("high")
    if not (isinstance(low, (int, float)) and isinstance(high, (int, float)) and low < high):
        raise ValueError(f"task.low must be under task.high, got {low!r} and {high!r}")
    return 1


def _num_tags(task: dict[str, object]) -> int:
    return len(TagSet.from_dict(task).labels)
