"""Students: small sentence encoders that learn a teacher's vectors, and what a run of one is.

Matchers that learn a teacher's opinion of pairs are the recipes for matching, trained otherwise.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from softquery.errors import ConfigError
from softquery.models import (
    REGISTRY,
    BertSentenceEncoderConfig,
    MpnetSentenceEncoderConfig,
    PooledEncoderConfig,
    name_of,
)
from softquery.recipes import RECIPES, Files, Run
from softquery.recipes.overrides import check_least, check_seed, run_dict
from softquery.tasks import DistillSettings
from softquery.text import TextConfig
from softquery.training import Optim, Schedule, Training

PREFIXES = (64, 128, 256)
StudentConfig = PooledEncoderConfig | BertSentenceEncoderConfig | MpnetSentenceEncoderConfig
"""A student is a pooled encoder, unless it begins as somebody's pretrained one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentPieces:
    """Which sub-words the student has a vector for."""

    size: int = 20_000
    """The most pieces, reserved ones included: the most frequent ones of the teacher's vocabulary
    in the texts, or learnt from the texts where the teacher has none that fits."""
    min_count: int = 2
    """Rarer pieces are left out; their words are cut into smaller ones."""

    def __post_init__(self) -> None:
        check_least(self, 1, "min_count")
        check_least(self, 100, "size")


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentTexts:
    """How texts are cut into batches."""

    tune_share: float = 0.01
    """Share of the texts that is held back to steer by."""
    most_tuned: int = 5_000
    """The most texts that are held back."""
    batch_size: int = 1024
    """Texts of a batch, which are also what likeness is compared with."""
    pad_multiple: int = 4

    def __post_init__(self) -> None:
        if not 0 < self.tune_share < 1:
            raise ValueError(f"tune_share must be between 0 and 1, got {self.tune_share}")
        check_least(self, 1, "most_tuned", "pad_multiple")
        check_least(self, 2, "batch_size")


@dataclass(frozen=True, kw_only=True, slots=True)
class Likeness:
    """What the student approaches, besides the teacher's vector of each text."""

    weight: float = 1.0
    """Of how alike the texts of a batch are; 0 to learn each vector by itself."""
    cosine_weight: float = 10.0
    """Of the cosine to the teacher's vector."""
    temperature: float = 0.05
    prefixes: tuple[int, ...] = PREFIXES
    """Widths at which vectors can be cut; those beyond the student's width are ignored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentPairs:
    """What pairs of texts teach, where some are given."""

    weight: float = 1.0
    """Of telling a text's partner from all others of the batch."""
    temperature: float = 0.05
    num_negatives: int = 1
    """Texts per pair that are mined: near in the teacher's eyes, and yet not the same."""
    margin: float = 0.05
    """A text whose cosine, in the teacher's eyes, comes within this of the partner's may mean the
    same, and is no negative ..."""
    floor: float = 0.6
    """... unless its cosine is below this, which no two texts of one meaning have."""

    def __post_init__(self) -> None:
        check_least(self, 0, "num_negatives")
        if not (self.temperature > 0 and self.weight >= 0 and self.margin >= 0):
            raise ValueError(
                "temperature must be positive, and weight and margin must not be negative; got "
                f"{self.temperature}, {self.weight} and {self.margin}"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class DistillRun:
    """Everything that determines a student's run, except its texts and its teacher."""

    counted: ClassVar[str] = "step"
    refused: ClassVar[Mapping[str, str]] = {}

    name: str
    summary: str
    model: StudentConfig
    likeness: Likeness = field(default_factory=Likeness)
    pairs: StudentPairs = field(default_factory=StudentPairs)
    text: TextConfig = field(
        default_factory=lambda: TextConfig(unit="bert", strip_accents=True, max_tokens=64)
    )
    pieces: StudentPieces = field(default_factory=StudentPieces)
    data: StudentTexts = field(default_factory=StudentTexts)
    optim: Optim = field(default_factory=Optim)
    schedule: Schedule = field(default_factory=Schedule)
    training: Training = field(default_factory=Training)

    def __post_init__(self) -> None:
        check_seed(self.training)
        bounded = self.text.boundaries and isinstance(self.model, PooledEncoderConfig)
        if self.text.unit != "bert" or bounded:
            raise ValueError("a student reads sub-words (text.unit=bert) without boundaries")

    def model_name(self) -> str:
        """The model's name in a bundle."""
        return name_of(self.model)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `run.json`."""
        return run_dict(self)


def static() -> DistillRun:
    """A table of vectors whose weights are learnt: minutes on a CPU.

    What `model2vec` makes of a teacher is where it begins: each piece has the teacher's vector of
    itself; training moves the vectors and learns how much each piece counts.
    """
    return DistillRun(
        name="static",
        summary="A table of sub-words, weighed by a learned query: minutes on a CPU",
        model=PooledEncoderConfig(
            body="static", embedding_size=256, output_size=256, pools=("query",)
        ),
        optim=Optim(lr=5e-3, betas=(0.9, 0.98), clip_norm=1.0),
        schedule=Schedule(warmup_share=0.02, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=5, patience=5),
    )


def bilstm() -> DistillRun:
    """A BiLSTM under a learned query and the largest values."""
    return DistillRun(
        name="bilstm",
        summary="A BiLSTM of 320 over sub-words of 256",
        model=PooledEncoderConfig(),
        data=StudentTexts(batch_size=2048),
        optim=Optim(lr=6e-3, betas=(0.9, 0.98), clip_norm=1.0),
        schedule=Schedule(warmup_share=0.03, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=20, patience=20, precision="bf16-mixed"),
    )


def convolution() -> DistillRun:
    """Three convolutions: a thinner reader than a BiLSTM, and faster on one text."""
    return replace(
        bilstm(),
        name="convolution",
        summary="Three convolutions of 256 over sub-words of 256: fast on one text",
        model=PooledEncoderConfig(body="convolution", embedding_size=256, hidden_size=256),
        optim=Optim(lr=3e-3, betas=(0.9, 0.98), clip_norm=1.0),
    )


def transformer() -> DistillRun:
    """Three thin blocks of self-attention: more exact per parameter, and slower."""
    return replace(
        bilstm(),
        name="transformer",
        summary="Three Transformer blocks of 256 over sub-words of 128",
        model=PooledEncoderConfig(body="transformer", embedding_size=128, hidden_size=256),
        optim=Optim(lr=1e-3, betas=(0.9, 0.98), clip_norm=1.0),
    )


BODIES: dict[str, Callable[[], DistillRun]] = {
    "static": static,
    "recurrent": bilstm,
    "convolution": convolution,
    "transformer": transformer,
}
"""By what a pooled encoder reads with."""
GATHERED = 256
"""Texts of a batch where one goes on: of some thousand texts, larger ones would make few steps."""
GENTLER = 0.2
"""Share of a student's rate at which one goes on that has learnt already."""


def going_on(model: StudentConfig, text: TextConfig, prefixes: tuple[int, ...]) -> DistillRun:
    """The run of a student that exists: its own structure and text, gentler and shorter.

    Args:
        model: Its structure.
        text: How it cuts texts.
        prefixes: The widths at which its vectors can be cut.
    """
    if isinstance(model, PooledEncoderConfig):
        run = BODIES[model.body]()
        optim = replace(run.optim, lr=GENTLER * run.optim.lr)
    else:
        run = bilstm()
        run = replace(run, name="pretrained")
        optim = replace(run.optim, lr=1e-4, betas=(0.9, 0.999))
        still = replace(model.encoder, dropout=0.0, attention_dropout=0.0)
        model = replace(model, encoder=still)  # type: ignore[arg-type]
    return replace(
        run,
        summary="A sentence encoder that goes on learning",
        model=model,
        text=text,
        data=replace(run.data, batch_size=GATHERED),
        likeness=replace(run.likeness, prefixes=prefixes),
        optim=optim,
        training=replace(run.training, max_epochs=3, patience=3),
    )


STUDENTS: dict[str, Callable[[], DistillRun]] = {
    "static": static,
    "bilstm": bilstm,
    "convolution": convolution,
    "transformer": transformer,
}
"""By the name that `softquery distill --student` takes."""


def student(name: str) -> DistillRun:
    """The student of that name, or `ConfigError` naming the nearest one."""
    if name in pair_recipes():
        raise ConfigError(
            f"{name} is a matcher, which learns from --pairs without --texts; "
            f"vectors are learnt by {', '.join(STUDENTS)}"
        )
    if name not in STUDENTS:
        raise ConfigError(_unknown(name, list(STUDENTS)))
    return STUDENTS[name]()


def _unknown(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name[:100].lower(), known, n=1, cutoff=0.3)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown student {name!r:.100}{hint} (known: {', '.join(known)})"


def pair_recipes() -> dict[str, Run]:
    """The recipes for matching, all but those with a biLM inside, which is larger than any teacher.

    >>> "esim-fast" in pair_recipes(), "esim-elmo" in pair_recipes()
    (True, False)
    """
    made = {name: make() for name, make in RECIPES.items()}
    return {
        name: run
        for name, run in made.items()
        if isinstance(run, Run) and not run.elmo and REGISTRY[run.model_name()].kind == "matcher"
    }


def pair_student(name: str) -> Run:
    """The matcher of that recipe as a student, or `ConfigError` naming the nearest one.

    Its structure, text and task are those of the recipe. A teacher's opinion of many pairs is
    learnt in larger batches, over fewer epochs and with fewer words than labels of some thousand.
    A head on a pretrained encoder keeps its own rates.
    """
    known = pair_recipes()
    if name in STUDENTS:
        raise ConfigError(
            f"{name} learns vectors of --texts; --pairs alone teach a matcher: {', '.join(known)}"
        )
    if name not in known:
        raise ConfigError(_unknown(name, list(known)))
    run = known[name]
    run = replace(run, settings=DistillSettings(), data=replace(run.data, tune=None))
    if run.bert is not None:
        return replace(run, data=replace(run.data, tune_share=0.01))
    return replace(
        run,
        vocabulary=replace(run.vocabulary, min_count=2, size=50_000),
        data=Files(batch_size=256, tune_share=0.01),
        optim=Optim(lr=1e-3),
        schedule=Schedule(warmup_share=0.02, decay="cosine", plateau_factor=1.0),
        training=Training(max_epochs=8, patience=8, average_decay=0.999),
    )
