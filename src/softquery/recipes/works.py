"""Which work a run is."""

from softquery.models import (
    AttentiveConfig,
    EsimConfig,
    HierarchicalConfig,
    SiameseConfig,
    TaggerConfig,
)
from softquery.recipes.class_work import ClassWork
from softquery.recipes.pair_work import PairWork
from softquery.recipes.run import ModelConfig, Run
from softquery.recipes.tag_work import TagWork
from softquery.recipes.work import Work

WORKS: dict[type[ModelConfig], Work] = {
    EsimConfig: PairWork(),
    SiameseConfig: PairWork(),
    TaggerConfig: TagWork(),
    AttentiveConfig: ClassWork(),
    HierarchicalConfig: ClassWork(),
}


def work_of(run: Run) -> Work:
    """What the run's model does with rows."""
    return WORKS[type(run.model)]
