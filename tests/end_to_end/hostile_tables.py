"""Every table of bad input that the pages in `docs/errors` show, by name."""

from hostile_bert import IMPORT_BERT, TRAIN_BERT
from hostile_bert_tasks import TRAIN_HEADS
from hostile_bundles import MODELS, RECIPES
from hostile_cases import Case, markdown
from hostile_classify import CLASSIFYING
from hostile_classify import TRAINING as TRAIN_CLASSIFIER
from hostile_distill import DISTILL, DISTILL_PAIRS
from hostile_elmo import IMPORT_ELMO, TRAIN_ELMO
from hostile_embed import EMBED
from hostile_encoders import IMPORT_SENTENCES, IMPORT_STATIC
from hostile_evaluate import EVALUATE
from hostile_fill import FILL
from hostile_generate import odd_table, refusal_table
from hostile_google import IMPORT_GOOGLE
from hostile_match import EXPORT, MATCH, RANK
from hostile_packages import ADD_MODELS, PACK_MODELS, REMOVE_MODELS
from hostile_probe import PROBE_SENSES, PROBE_TAGS
from hostile_read import READING
from hostile_read import TRAINING as TRAIN_READER
from hostile_search import EVALUATE_INDEX, INDEX, SEARCH, TUNE
from hostile_serving import KEYS, SERVE
from hostile_tags import EVALUATE_TAGGER, EXPORT_TAGGER, TAG, TRAIN_TAGGER
from hostile_train import TRAIN
from hostile_trust import BENCH, CALIBRATE, EXPLAIN
from hostile_words import IMPORT_VECTORS, TRAIN_WORDS, VECTORS

CASES: dict[str, list[Case]] = {
    "train": TRAIN,
    "train elmo": TRAIN_ELMO,
    "train bert": TRAIN_BERT,
    "train bert-match": TRAIN_HEADS,
    "train tagger": TRAIN_TAGGER,
    "train word2vec": TRAIN_WORDS,
    "distill": DISTILL,
    "distill pairs": DISTILL_PAIRS,
    "import elmo": IMPORT_ELMO,
    "import bert": [*IMPORT_BERT, *IMPORT_GOOGLE],
    "import sentence-transformers": IMPORT_SENTENCES,
    "import static": IMPORT_STATIC,
    "import vectors": IMPORT_VECTORS,
    "evaluate": [*EVALUATE, *EVALUATE_INDEX],
    "evaluate tagger": EVALUATE_TAGGER,
    "match": MATCH,
    "rank": RANK,
    "index": INDEX,
    "search": SEARCH,
    "tune": TUNE,
    "tag": TAG,
    "embed": EMBED,
    "fill": FILL,
    "export": EXPORT,
    "export tagger": EXPORT_TAGGER,
    "calibrate": CALIBRATE,
    "explain": EXPLAIN,
    "bench": BENCH,
    "probe senses": PROBE_SENSES,
    "probe tags": PROBE_TAGS,
    "models": MODELS,
    "models add": ADD_MODELS,
    "models remove": REMOVE_MODELS,
    "models pack": PACK_MODELS,
    "recipes": RECIPES,
    "vectors": VECTORS,
    "serve": SERVE,
    "keys": KEYS,
}
"""By verb, and by what it reads; these are tried on one set of sound input."""

TABLES = {
    **{name: markdown(cases) for name, cases in CASES.items()},
    "train reader": markdown(TRAIN_READER),
    "read": markdown(READING),
    "train classifier": markdown(TRAIN_CLASSIFIER),
    "classify": markdown(CLASSIFYING),
    "generate": refusal_table(),
    "generate odd": odd_table(),
}
"""What stands on a page below `<!-- cases: NAME -->`."""
