"""Metrics, confidence intervals, slices and calibration, and the reports of every task.

Plain functions over numpy arrays, without models and tensor libraries.
"""

from softquery.measure.basic_metrics import (
    accuracy,
    auc,
    confusion_matrix,
    f1_by_label,
    found_at,
    macro_f1,
    ndcg_at,
    pearson,
    recall_at,
    reciprocal_rank,
    spearman,
)
from softquery.measure.bootstrap import (
    Comparison,
    Interval,
    compare_means,
    grouped_interval,
    interval,
    mean_interval,
)
from softquery.measure.calibration_error import (
    ReliabilityBin,
    Scaling,
    chance_calibration_error,
    choose_scaling,
    expected_calibration_error,
    fit_temperature,
    reliability,
)
from softquery.measure.classify_scores import (
    ClassMetric,
    ClassReport,
    RelationReport,
    class_score,
    relation_f1,
    relation_of,
    relations_of,
)
from softquery.measure.encode_scores import CosineReport, GradedCosineReport
from softquery.measure.generate_scores import (
    BleuTokens,
    CoupletReport,
    TranslationReport,
    bleu_counts,
    bleu_of_counts,
    corpus_bleu,
    require_sacrebleu,
    rivals,
)
from softquery.measure.kneser_ney import KneserNey, fit_kneser_ney
from softquery.measure.linear_probe import LinearProbe, fit_linear
from softquery.measure.match_scores import (
    GradedReport,
    MatchReport,
    Symmetry,
    Threshold,
    choose_threshold,
    symmetry,
)
from softquery.measure.probe_scores import ProbeReport
from softquery.measure.read_scores import (
    Counting,
    ReadReport,
    choose_abstention,
    score_answer,
    score_answers,
)
from softquery.measure.scaling_across import (
    choose_scaling_across,
    form_of,
    scalings_without_each,
    weigh_alike,
)
from softquery.measure.slices import Slice, by_label, by_length, by_value, measure_slices
from softquery.measure.tag_scores import TagReport, f1_of_counts, ratio_of_counts

__all__ = [
    "ClassMetric",
    "ClassReport",
    "Comparison",
    "CosineReport",
    "Counting",
    "GradedCosineReport",
    "GradedReport",
    "Interval",
    "KneserNey",
    "LinearProbe",
    "MatchReport",
    "RelationReport",
    "ProbeReport",
    "ReadReport",
    "ReliabilityBin",
    "Scaling",
    "Slice",
    "Symmetry",
    "TagReport",
    "Threshold",
    "accuracy",
    "auc",
    "by_label",
    "by_length",
    "by_value",
    "chance_calibration_error",
    "choose_abstention",
    "choose_scaling",
    "choose_scaling_across",
    "choose_threshold",
    "class_score",
    "compare_means",
    "confusion_matrix",
    "expected_calibration_error",
    "f1_by_label",
    "fit_kneser_ney",
    "fit_linear",
    "f1_of_counts",
    "form_of",
    "found_at",
    "fit_temperature",
    "grouped_interval",
    "interval",
    "macro_f1",
    "mean_interval",
    "measure_slices",
    "ndcg_at",
    "pearson",
    "ratio_of_counts",
    "recall_at",
    "reciprocal_rank",
    "relation_f1",
    "relation_of",
    "relations_of",
    "reliability",
    "scalings_without_each",
    "score_answer",
    "score_answers",
    "spearman",
    "symmetry",
    "weigh_alike",
    "BleuTokens",
    "CoupletReport",
    "TranslationReport",
    "bleu_counts",
    "bleu_of_counts",
    "corpus_bleu",
    "require_sacrebleu",
    "rivals",
]
