"""What comes before the first row of an index: models are chosen and opened, and rows are read."""

from collections.abc import Mapping
from os import PathLike

from softquery.search.changes.building import new_manifest
from softquery.search.changes.further_texts import FurtherTexts
from softquery.search.query.index_languages import check_language, choose_matcher
from softquery.search.query.index_models import IndexModels, open_models, portable
from softquery.search.storage.entries import Entries, Source, read_source, to_entries
from softquery.search.storage.manifest import IndexSettings, Manifest


def prepare(
    source: Source,
    model: str | PathLike[str] | None,
    language: str | None,
    columns: Mapping[str, str] | None,
    settings: IndexSettings,
    threads: int | None,
) -> tuple[IndexModels, Entries, Manifest, str]:
    """The models and the rows of a new index, its manifest, and why the matcher was chosen.

    Args:
        source: As for `Index.build`.
        model: The matcher; None for the shipped one that reads the language of the rows.
        language: Rows in other languages are left out.
        columns: Our column names mapped to those of the file.
        settings: What is stored, and how.
        threads: Threads of indexing; None for all cores.
    """
    if language is not None:
        check_language(language)
    chosen = ""
    if model is None:
        given = read_source(source, columns=columns, language=language)
        choice = choose_matcher(given.languages, given.name)
        model, chosen = choice.model, f"{choice.model} is chosen: {choice.reason}"
        models = open_models(model, settings, threads)
    else:
        models = open_models(model, settings, threads)
        given = read_source(source, columns=columns, language=language)
    texts = FurtherTexts(models.settings)
    entries = to_entries(given, models.matcher.pipeline.config, texts.expand)
    return models, entries, new_manifest(portable(model), models, entries), chosen
