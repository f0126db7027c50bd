"""Which work a run is."""

from softquery.models import (
    AttentiveConfig,
    BertClassifierConfig,
    BertMatcherConfig,
    BertReaderConfig,
    BertTaggerConfig,
    BiDafConfig,
    EsimConfig,
    HierarchicalConfig,
    SiameseConfig,
    TaggerConfig,
)
from softquery.recipes.class_work import ClassWork
from softquery.recipes.pair_work import PairWork
from softquery.recipes.read_work import ReadWork
from softquery.recipes.run import Run, WriteSettings
from softquery.recipes.tag_work import TagWork
from softquery.recipes.work import Work
from softquery.recipes.write_work import WriteWork
from softquery.tasks import Generation

WORKS: dict[type, Work] = {
    EsimConfig: PairWork(),
    SiameseConfig: PairWork(),
    TaggerConfig: TagWork(),
    AttentiveConfig: ClassWork(),
    HierarchicalConfig: ClassWork(),
    BiDafConfig: ReadWork(),
    BertClassifierConfig: ClassWork(),
    BertMatcherConfig: PairWork(),
    BertTaggerConfig: TagWork(),
    BertReaderConfig: ReadWork(),
}


def work_of(run: Run) -> Work:
    """What the run's model does with rows."""
    if isinstance(run.task, Generation):
        return WriteWork(run.writing or WriteSettings())
    return WORKS[type(run.model)]
