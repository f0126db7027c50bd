"""One file per task: loss, labels, metric and settings, without parameters."""

from softquery.tasks.agreement import check_consistency
from softquery.tasks.classify import ClassifySettings, TextClassification
from softquery.tasks.encode import Contrast, LabelContrast, SentenceDistillation
from softquery.tasks.generate import (
    GenerateSettings,
    Generation,
    TokenLikelihood,
    Vocabularies,
    token_losses,
)
from softquery.tasks.language_model import LanguageModel, Likelihood
from softquery.tasks.masked_language_model import MaskedLanguageModel, MaskedScores
from softquery.tasks.match import (
    DistillSettings,
    PairClassification,
    PairDistillation,
    PairGrading,
    PairTask,
    centred,
    task_from_dict,
)
from softquery.tasks.read import ReadSettings, SpanReading
from softquery.tasks.tag import Tagging, TagSettings
from softquery.tasks.window import WordPrediction

__all__ = [
    "ClassifySettings",
    "Contrast",
    "DistillSettings",
    "GenerateSettings",
    "LabelContrast",
    "ReadSettings",
    "TagSettings",
    "Vocabularies",
    "Generation",
    "LanguageModel",
    "Likelihood",
    "MaskedLanguageModel",
    "MaskedScores",
    "PairClassification",
    "PairDistillation",
    "PairGrading",
    "PairTask",
    "SentenceDistillation",
    "SpanReading",
    "WordPrediction",
    "TokenLikelihood",
    "Tagging",
    "TextClassification",
    "centred",
    "check_consistency",
    "task_from_dict",
    "token_losses",
]
