"""The score that a hit needs to be an answer."""

from softquery.errors import ConfigError
from softquery.search.aims import DEFAULT_AIM, parse_aim
from softquery.search.query.index_models import NO_AIM, IndexModels
from softquery.search.query.stages import RERANK, STAGES, Stages
from softquery.search.score.row_score import shipped_score
from softquery.search.storage.manifest import LEARNED, IndexSettings
from softquery.search.tuning.tuned_score import TunedScore


def least_score(
    settings: IndexSettings,
    models: IndexModels,
    stages: Stages,
    aim: str | None,
    tuned: TunedScore | None = None,
) -> float | None:
    """The score that a hit needs, by some stages and for an aim; None for any score.

    Args:
        settings: Those of the index.
        models: Those of the index.
        stages: What the search uses.
        aim: What the threshold is for; None for what the index says, which may be a score.
        tuned: The score of an index that was tuned, which counts where all stages are used.

    Raises:
        ConfigError: The aim is none, or scores are not the learned ones.
    """
    tuned = tuned if stages == STAGES else None
    is_learned = settings.score == LEARNED or tuned is not None
    if aim is not None and not is_learned:
        parse_aim(aim)
        raise ConfigError(NO_AIM)
    if aim is None and settings.min_score is not None:
        return settings.min_score if is_learned or RERANK in stages else None
    if is_learned:
        chosen = aim if aim is not None else settings.aim
        wanted = DEFAULT_AIM if chosen is None else parse_aim(chosen)
        return (
            shipped_score().threshold(wanted, stages) if tuned is None else tuned.threshold(wanted)
        )
    if RERANK not in stages:
        return None
    threshold = models.matcher.calibration.threshold
    return 0.5 if threshold is None else threshold
