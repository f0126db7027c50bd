"""Which work a run is."""

from softquery.models import BiDafConfig, EsimConfig, SiameseConfig, TaggerConfig
from softquery.recipes.pair_work import PairWork
from softquery.recipes.read_work import ReadWork
from softquery.recipes.run import ModelConfig, Run
from softquery.recipes.tag_work import TagWork
from softquery.recipes.work import Work

WORKS: dict[type[ModelConfig], Work] = {
    EsimConfig: PairWork(),
    SiameseConfig: PairWork(),
    TaggerConfig: TagWork(),
    BiDafConfig: ReadWork(),
}


def work_of(run: Run) -> Work:
    """What the run's model does with rows."""
    return WORKS[type(run.model)]
