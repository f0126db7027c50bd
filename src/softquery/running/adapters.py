"""Which work a run is."""

from softquery.models import (
    AttentiveConfig,
    BertClassifierConfig,
    BertMatcherConfig,
    BertReaderConfig,
    BertTaggerConfig,
    BiDafConfig,
    BiLstmTaggerConfig,
    EsimConfig,
    HierarchicalConfig,
    SiameseConfig,
)
from softquery.recipes.run import GenerateSettings, Run
from softquery.running.adapter import TaskAdapter
from softquery.running.classify import ClassifyAdapter
from softquery.running.generate import GenerateAdapter
from softquery.running.match import MatchAdapter
from softquery.running.read import ReadAdapter
from softquery.running.tag import TagAdapter
from softquery.tasks import Generation

ADAPTERS: dict[type, TaskAdapter] = {
    EsimConfig: MatchAdapter(),
    SiameseConfig: MatchAdapter(),
    BiLstmTaggerConfig: TagAdapter(),
    AttentiveConfig: ClassifyAdapter(),
    HierarchicalConfig: ClassifyAdapter(),
    BiDafConfig: ReadAdapter(),
    BertClassifierConfig: ClassifyAdapter(),
    BertMatcherConfig: MatchAdapter(),
    BertTaggerConfig: TagAdapter(),
    BertReaderConfig: ReadAdapter(),
}


def adapter_of(run: Run) -> TaskAdapter:
    """What the run's model does with rows."""
    if isinstance(run.task, Generation):
        return GenerateAdapter(run.writing or GenerateSettings())
    return ADAPTERS[type(run.model)]
