"""Bad input for `softquery index` and `softquery search`, and for `evaluate` of an index.

Cases find `faq.csv`, sound questions, and `faq.sq`, the index of them by `model/`.
"""

import json
from pathlib import Path

from hostile_cases import ANY, BROKEN_XZ, JUNK, Case, both, changed, cut, file

from index_forging import seal

BUILD = "index faq.csv --output new.sq --model model"
ASKED = "search faq.sq 'a man eats'"
QUERIES = "query\tdoc\nhow many men\t3\n"
REBUILT = "index faq.sq --rebuild"
ADDED = "index more.csv --output faq.sq --add"
MANIFEST = "faq.sq/manifest.json"
FAQ = [
    {"id": str(number), "question": f"{number} men eat", "answer": f"answer {number}"}
    for number in range(6)
]


def segment(place: Path) -> Path:
    (folder,) = (place / "faq.sq" / "segments").iterdir()
    return folder


def broken(name: str):
    """Change one byte in the middle of a segment's file."""

    def damage(place: Path) -> None:
        path = segment(place) / name
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)

    return damage


def shorter(place: Path) -> None:
    path = segment(place) / "encodings.bin"
    path.write_bytes(path.read_bytes()[:-5])


def without_a_file(place: Path) -> None:
    (segment(place) / "cells.bin").unlink()


def leading_out(place: Path) -> None:
    path = place / MANIFEST
    manifest = json.loads(path.read_bytes())
    manifest["segments"][0]["name"] = "../../data"
    path.write_text(json.dumps(manifest), encoding="utf-8")


def linked(name: str):
    """Move a part of the index elsewhere, and leave a link to it."""

    def damage(place: Path) -> None:
        path = place / name
        path.rename(place / "elsewhere")
        path.symlink_to(place / "elsewhere")

    return damage


def emptied(name: str):
    """Empty a file of the segment, and make its size and checksum right."""

    def damage(place: Path) -> None:
        (segment(place) / name).write_bytes(b"")
        seal(place / "faq.sq")

    return damage


def half_built(place: Path) -> None:
    """As an indexing by another model would have left it."""
    changed(MANIFEST, "unfinished", to=True)(place)
    changed(MANIFEST, "fingerprint", to="0")(place)


INDEX = [
    Case(
        title="no `--output`",
        command="index faq.csv",
        said="name the index with --output, or with --store",
    ),
    Case(
        title="a file that is not there",
        command="index none.csv --output new.sq --model model",
        said="none.csv: no such file",
    ),
    Case(
        title="an empty file",
        command=BUILD,
        damage=file("faq.csv", ""),
        said="faq.csv: is empty",
    ),
    Case(
        title="a header and no rows",
        command=BUILD,
        damage=file("faq.csv", "question,answer\n"),
        said="faq.csv: holds no rows",
    ),
    Case(
        title="no column of questions",
        command=BUILD,
        damage=file("faq.csv", "title,answer\na,b\n"),
        said='faq.csv, row 1: no column "question"; found: title, answer; expected: question; '
        "other names are given with --columns question=NAME",
    ),
    Case(
        title="a question that is empty",
        command=BUILD,
        damage=file("faq.csv", "question,answer\na,b\n ,c\n"),
        said="faq.csv, row 3: question is empty",
    ),
    Case(
        title="an id that stands there twice, with two answers",
        command=BUILD,
        damage=file("faq.csv", "id,question,answer\n7,a,x\n8,b,y\n7,c,z\n"),
        said="faq.csv, row 4: id '7' is already used by row 2, with another answer; rows with one "
        "id are phrasings of one question",
    ),
    Case(
        title="a column with a name that hits use",
        command=BUILD,
        damage=file("faq.csv", "question,score\na,1\n"),
        said='faq.csv, row 1: column "score" has a name that hits use for something else; '
        "rename it",
    ),
    Case(
        title="noise in place of a table",
        command=BUILD,
        damage=file("faq.csv", JUNK),
        said=f"faq.csv, row 1: {ANY}",
    ),
    Case(
        title="an archive that breaks off",
        command="index faq.tsv.xz --output new.sq --columns question=sentence1 --model model",
        damage=file("faq.tsv.xz", BROKEN_XZ),
        said=f"faq.tsv.xz, row {ANY}: the compressed file breaks off here (truncated); "
        "fetch or compress it again",
    ),
    Case(
        title="a model that does not exist",
        command="index faq.csv --output new.sq --model match-xx",
        said=f"no model called 'match-xx'; {ANY}shipped: {ANY}; local: none",
    ),
    Case(
        title="a model that matches nothing",
        command="index faq.csv --output new.sq --model elmo-en",
        said=f"{ANY}elmo-en: expected a matcher, found kind 'embedder'",
    ),
    Case(
        title="vectors from a model that gives none",
        command=f"{BUILD} --vectors match-en",
        said=f"{ANY}match-en: gives no vectors of texts; expected a sentence encoder, a Siamese "
        "matcher, an embedder, an encoder or word vectors",
    ),
    Case(
        title="rows in five scripts, and no `--model`",
        command="index faq.csv --output new.sq",
        damage=file(
            "faq.csv", "question\nhow do I pay?\n怎么付款\nкак платить\nكيف أدفع\n返品したい\n"
        ),
        said="faq.csv: 1 row is in English, 1 in Chinese, 1 in Cyrillic script, 1 in Arabic "
        "script, 1 in Japanese, and an index has one matcher; build one for each language "
        "(--language en and --language zh), or name it by --model",
    ),
    Case(
        title="rows in a language that no shipped matcher reads, and no `--model`",
        command="index faq.csv --output new.sq",
        damage=file("faq.csv", "question\nWie kann ich bezahlen?\n"),
        said="faq.csv: its rows are in German; the shipped matchers read English (match-en) and "
        "Chinese (match-zh); name another by --model",
    ),
    Case(
        title="`--language` of no row",
        command=f"{BUILD} --language zh",
        damage=file("faq.csv", "question\nhow do I pay?\n"),
        said="faq.csv: holds no rows in 'zh'",
    ),
    Case(
        title="a language that is not known",
        command=f"{BUILD} --language klingon",
        said=f"no language is called 'klingon'; known: en, zh, {ANY}",
    ),
    Case(
        title="`--language` without a file",
        command="index --output faq.sq --language en",
        said="--language takes a file of questions",
        left="the index as it was",
    ),
    Case(
        title="encodings in an unknown form",
        command=f"{BUILD} --encodings int4",
        said="encodings must be auto, int3, int8, float16 or none, got 'int4'",
    ),
    Case(
        title="words of a column that is not there",
        command=f"{BUILD} --words question,body",
        said="no column 'body' to look words up in; found: id, question, answer",
    ),
    Case(
        title="an index that is there already",
        command="index faq.csv --output faq.sq --model model",
        said="faq.sq: exists already; --add adds and replaces rows, another --output builds a new "
        "index",
        left="the index as it was",
    ),
    Case(
        title="an indexing that another model began",
        command="index faq.csv --output faq.sq --model model",
        damage=half_built,
        said="faq.sq: was begun with another model or other settings; remove it to start over",
        left="the index as it was",
    ),
    Case(
        title="a folder that is something else",
        command="index faq.csv --output data --model model",
        said="data: exists already; choose another folder or remove it",
        left="the folder as it was",
    ),
    Case(
        title="a place in a folder that is not there",
        command="index faq.csv --output no/new.sq --model model",
        said="no/new.sq: cannot be written (no such folder)",
    ),
    Case(
        title="a disk that is full",
        command="index faq.csv --output full/new.sq --model model",
        needs=frozenset({"disk"}),
        said="full/new.sq: cannot be written (no space left on the disk)",
    ),
    Case(
        title="`--add` without a file",
        command="index --output faq.sq --add",
        said="--add takes a file of questions",
    ),
    Case(
        title="`--add` to what is not there",
        command="index faq.csv --output none.sq --add",
        said="none.sq: no such index; build one with softquery index FILE --output INDEX",
    ),
    Case(
        title="`--add` of rows of which one is bad",
        command=ADDED,
        damage=file("more.csv", "question,answer\na,b\nonly one\n"),
        said="more.csv, row 3: expected 2 columns (question, answer), found 1",
        left="the index as it was",
    ),
    Case(
        title="`--delete` with a file",
        command=f"{BUILD} --delete 3",
        said="--delete and --compact change an index; with a file also give --add",
    ),
    Case(
        title="`--delete` of a row that is not there",
        command="index --output faq.sq --delete 3 --delete 99",
        said="faq.sq: no row has the id or the question '99'",
        left="the index as it was",
    ),
    Case(
        title="`--min-score` of no probability",
        command="index --output faq.sq --min-score 7",
        said="min_score must be from 0 to 1, got 7.0",
        left="the index as it was",
    ),
    Case(
        title="`--compact` of an index that is a link",
        command="index --output faq.sq --compact",
        damage=linked("faq.sq"),
        said=f"faq.sq: is a link; name the folder itself, {ANY}elsewhere",
        left="the index as it was",
    ),
    Case(
        title="`--compact` of segments that are a link",
        command="index --output faq.sq --compact",
        damage=linked("faq.sq/segments"),
        said="faq.sq/segments: is a link; an index holds plain files and folders alone",
        left="the index as it was",
    ),
    Case(
        title="`--add` to an index whose model was replaced",
        command=ADDED,
        damage=both(file("more.csv", "question\na\n"), changed(MANIFEST, "model", to="match-en")),
        said=f"faq.sq: was made with another match-en (fingerprint {ANY}, today's is {ANY}); "
        "softquery index faq.sq --rebuild makes it anew with today's",
        left="the index as it was",
    ),
    Case(
        title="`--rebuild` of nothing",
        command="index --rebuild",
        said="--rebuild takes one index: softquery index INDEX --rebuild",
    ),
    Case(
        title="`--rebuild` of what is not there",
        command="index none.sq --rebuild",
        said="none.sq: no such index; build one with softquery index FILE --output INDEX",
    ),
    Case(
        title="`--rebuild` of a file of questions",
        command="index faq.csv --rebuild",
        said="faq.csv: is not an index (it has no manifest.json)",
    ),
    Case(
        title="`--rebuild` of an index of a newer softquery",
        command=REBUILT,
        damage=both(
            changed(MANIFEST, "format", to=9), changed(MANIFEST, "library_version", to="9.0")
        ),
        said="faq.sq/manifest.json: was written by softquery 9.0, in a format (9) that this "
        f"version ({ANY}) does not know",
        left="the index as it was",
    ),
    Case(
        title="`--rebuild` of an index that was never finished",
        command=REBUILT,
        damage=changed(MANIFEST, "unfinished", to=True),
        said="faq.sq: was never finished: give the command that began it again, or remove it and "
        "start over if its model was replaced",
        left="the index as it was",
    ),
    Case(
        title="`--rebuild` of texts that were changed",
        command=REBUILT,
        damage=broken("cells.bin"),
        said=f"faq.sq/segments/{ANY}/cells.bin: is damaged (its checksum differs); "
        "restore the index, or build it again",
        left="the index as it was",
    ),
    Case(
        title="`--rebuild` by a model that is gone",
        command=REBUILT,
        damage=changed(MANIFEST, "model", to="gone/model"),
        said="gone/model: no such model folder",
        left="the index as it was",
    ),
    Case(
        title="`--rebuild` by a model that does not exist",
        command=f"{REBUILT} --model match-xx",
        said=f"no model called 'match-xx'; {ANY}shipped: {ANY}; local: none",
        left="the index as it was",
    ),
    Case(
        title="`--rebuild` by a model that matches nothing",
        command=f"{REBUILT} --model elmo-en",
        said=f"{ANY}elmo-en: expected a matcher, found kind 'embedder'",
        left="the index as it was",
    ),
    Case(
        title="`--rebuild` of an index that is a link",
        command=REBUILT,
        damage=linked("faq.sq"),
        said=f"faq.sq: is a link; name the folder itself, {ANY}elsewhere",
        left="the index as it was",
    ),
    Case(
        title="`--rebuild` with what it does not change",
        command=f"{REBUILT} --encodings float16",
        said="--rebuild goes with --model, --vectors, --min-score, --aim, --duplicates, "
        "--threads and --json alone",
        left="the index as it was",
    ),
    Case(
        title="`--duplicates` in another form",
        command="index --output faq.sq --duplicates same.xlsx",
        said="same.xlsx: duplicates are written as .tsv or .jsonl",
    ),
]

SEARCH = [
    Case(
        title="an index that is not there",
        command="search none.sq 'a man eats'",
        said="none.sq: no such index; build one with softquery index FILE --output INDEX",
    ),
    Case(
        title="a folder that is no index",
        command="search data 'a man eats'",
        said="data: is not an index (it has no manifest.json)",
    ),
    Case(title="nothing is asked", command="search faq.sq ' '", said="query is empty"),
    Case(
        title="`--top-k 0`",
        command=f"{ASKED} --top-k 0",
        said=f"invalid value for '--top-k' / '--top': {ANY}; see softquery search --help",
    ),
    Case(
        title="`--where` without a value",
        command=f"{ASKED} --where answer",
        said="--where takes column=value, or < <= > >= != for =, got 'answer'",
    ),
    Case(
        title="`--where` with a column that is not there",
        command=f"{ASKED} --where colour=red",
        said="no column 'colour' to filter by; found: id, question, answer",
    ),
    Case(
        title="`--min-score` of no probability",
        command=f"{ASKED} --min-score 2",
        said="min_score must be from 0 to 1, got 2.0",
    ),
    Case(
        title="`--candidates` without end",
        command=f"{ASKED} --candidates 1000000",
        said="candidates must be from 1 to 10,000, got 1000000",
    ),
    Case(
        title="`--stages` that nobody knows",
        command=f"{ASKED} --stages words,colours",
        said="no stage is called 'colours'; known: words, vectors, rerank",
    ),
    Case(
        title="`--stages` without a name",
        command=f"{ASKED} --stages ,",
        said="stages names none; expected some of words, vectors, rerank",
    ),
    Case(
        title="`--explain` in an unknown form",
        command=f"{ASKED} --explain why.doc",
        said=f"why.doc: {ANY}",
    ),
    Case(
        title="`--explain` in a folder that is not there",
        command=f"{ASKED} --explain none/why.html",
        said="none/why.html: cannot be written (no such folder)",
    ),
    Case(
        title="an index of another model",
        command=f"{ASKED} --model match-en",
        said=f"faq.sq: was made with another model than match-en (fingerprint {ANY}, that one's is "
        f"{ANY}); softquery index faq.sq --rebuild --model match-en changes it to that",
    ),
    Case(
        title="an index whose model was replaced",
        command=ASKED,
        damage=changed(MANIFEST, "model", to="match-en"),
        said=f"faq.sq: was made with another match-en (fingerprint {ANY}, today's is {ANY}); "
        "softquery index faq.sq --rebuild makes it anew with today's",
    ),
    Case(
        title="an index whose model is gone",
        command=ASKED,
        damage=changed(MANIFEST, "model", to="gone/model"),
        said="gone/model: no such model folder",
    ),
    Case(
        title="an index of a newer softquery",
        command=ASKED,
        damage=both(
            changed(MANIFEST, "format", to=9), changed(MANIFEST, "library_version", to="9.0")
        ),
        said="faq.sq/manifest.json: was written by softquery 9.0, in a format (9) that this "
        f"version ({ANY}) does not know",
    ),
    Case(
        title="a manifest that breaks off",
        command=ASKED,
        damage=cut(MANIFEST),
        said="faq.sq/manifest.json: is damaged (expected JSON)",
    ),
    Case(
        title="a manifest that lacks something",
        command=ASKED,
        damage=file(MANIFEST, '{"format": 1}'),
        said=f"faq.sq/manifest.json: is damaged (no '{ANY}' in the manifest)",
    ),
    Case(
        title="a manifest that leads elsewhere",
        command=ASKED,
        damage=leading_out,
        said="faq.sq/manifest.json: is damaged (name of an entry of segments is '../../data', "
        "expected the name of a segment, such as 000001-0a1b2c3d)",
    ),
    Case(
        title="a manifest whose model is a number",
        command=ASKED,
        damage=changed(MANIFEST, "model", to=7),
        said="faq.sq/manifest.json: is damaged (model of the manifest is 7, expected a text)",
    ),
    Case(
        title="texts that are gone, with a right checksum",
        command=ASKED,
        damage=emptied("cells.bin"),
        said=f"faq.sq/segments/{ANY}/cell_ends.bin: is damaged (its ends do not rise from 0 to 0); "
        "restore the index, or build it again",
    ),
    Case(
        title="words that are gone, with a right checksum",
        command=ASKED,
        damage=emptied("words.json"),
        said=f"faq.sq/segments/{ANY}/words.json: is damaged (expected a list of words); "
        "restore the index, or build it again",
    ),
    Case(
        title="texts that were changed",
        command=ASKED,
        damage=broken("cells.bin"),
        said=f"faq.sq/segments/{ANY}/cells.bin: is damaged (its checksum differs); "
        "restore the index, or build it again",
    ),
    Case(
        title="vectors that were changed",
        command=ASKED,
        damage=broken("vectors.bin"),
        said=f"faq.sq/segments/{ANY}/vectors.bin: is damaged (its checksum differs); "
        "restore the index, or build it again",
    ),
    Case(
        title="encodings that break off",
        command=ASKED,
        damage=shorter,
        said=f"faq.sq/segments/{ANY}/encodings.bin: is damaged (has {ANY} bytes, expected {ANY}); "
        "restore the index, or build it again",
    ),
    Case(
        title="a file that is missing",
        command=ASKED,
        damage=without_a_file,
        said=f"faq.sq/segments/{ANY}/cells.bin: is missing; restore the index, or build it again",
    ),
]

EVALUATE_INDEX = [
    Case(
        title="an index, and queries without a query",
        command="evaluate faq.sq --data test.tsv",
        said='test.tsv, row 1: no column "query"; found: sentence1, sentence2, label; '
        "expected: query; other names are given with --columns query=NAME",
    ),
    Case(
        title="an index that does not have the answer",
        command="evaluate faq.sq --data queries.tsv",
        damage=file("queries.tsv", "query\tdoc\nhow many men\t3\nwho eats\t77\n"),
        said="queries.tsv, row 3: doc '77' is neither an id nor a question of the index",
    ),
    Case(
        title="a relevance that is no number",
        command="evaluate faq.sq --data queries.tsv",
        damage=file("queries.tsv", "query\tdoc\trelevance\nhow many men\t3\tvery\n"),
        said="queries.tsv, row 2: relevance 'very' is not a number of at least 0",
    ),
    Case(
        title="`--order` of an index",
        command="evaluate faq.sq --data test.tsv --order",
        said="--order compares pairs; an index reads one text",
    ),
    Case(
        title="`--slice` of an index by a column that neither queries nor rows have",
        command="evaluate faq.sq --data queries.tsv --slice colour",
        damage=file("queries.tsv", QUERIES),
        said="no column 'colour' to slice by; found: length, language…",
    ),
    Case(
        title="`--html` of a model",
        command="evaluate model --data test.tsv --html report.html",
        said="--html is for an index; model is none",
    ),
    Case(
        title="`--html` that ends in something else",
        command="evaluate faq.sq --data queries.tsv --html report.pdf",
        damage=file("queries.tsv", QUERIES),
        said="report.pdf: expected a name that ends in .html",
    ),
    Case(
        title="`--html` into a folder that is not there",
        command="evaluate faq.sq --data queries.tsv --html none/report.html",
        damage=file("queries.tsv", QUERIES),
        said="none/report.html: cannot be written (no such folder)",
    ),
    Case(
        title="`--stages` that nobody knows",
        command="evaluate faq.sq --data queries.tsv --stages words --stages colours",
        damage=file("queries.tsv", QUERIES),
        said="no stage is called 'colours'; known: words, vectors, rerank",
    ),
    Case(
        title="`--stages` of a model",
        command="evaluate model --data test.tsv --stages words",
        said="--stages is for an index; model is none",
    ),
    Case(
        title="`--errors` of several `--stages`",
        command="evaluate faq.sq --data queries.tsv --stages words --stages rerank --errors w.tsv",
        damage=file("queries.tsv", QUERIES),
        said="--errors takes one --stages",
    ),
    Case(
        title="several `--stages`, and no query that has an answer",
        command="evaluate faq.sq --data queries.tsv --stages words --stages vectors",
        damage=file("queries.tsv", "query\tdoc\nhow many men\t\n"),
        said="no query has an answer in the index, so that nothing can be compared",
    ),
]


LABELLED = "query\tdoc\n" + "".join(f"how many men {n}\t{n % 6}\n" for n in range(24))
CLICKS = "query\tshown\tchosen\n"
TUNED = "tune faq.sq --queries labelled.tsv"
TUNE = [
    Case(
        title="neither `--queries` nor `--undo`",
        command="tune faq.sq",
        said="name the queries with --queries, or --undo a tuning",
    ),
    Case(
        title="both",
        command="tune faq.sq --queries labelled.tsv --undo",
        damage=file("labelled.tsv", LABELLED),
        said="--undo goes with --threads and --json alone",
    ),
    Case(
        title="`--undo` of an index that was not tuned",
        command="tune faq.sq --undo",
        said="faq.sq: was not tuned, so that there is nothing to undo",
        left="the index as it was",
    ),
    Case(
        title="an index that is not there",
        command="tune none.sq --queries labelled.tsv",
        damage=file("labelled.tsv", LABELLED),
        said="none.sq: no such index; build one with softquery index FILE --output INDEX",
    ),
    Case(
        title="a file that is not there",
        command=TUNED,
        said="labelled.tsv: no such file",
    ),
    Case(
        title="a header and no rows",
        command=TUNED,
        damage=file("labelled.tsv", "query\tdoc\n"),
        said="labelled.tsv: holds no rows",
    ),
    Case(
        title="no column of queries",
        command=TUNED,
        damage=file("labelled.tsv", "question\tdoc\na\t1\n"),
        said='labelled.tsv, row 1: no column "query"; found: question, doc; expected: query; '
        "other names are given with --columns query=NAME",
    ),
    Case(
        title="queries and nothing else",
        command=TUNED,
        damage=file("labelled.tsv", "query\nhow many men\n"),
        said="labelled.tsv: a log needs at least 20 different queries that the index reads, found "
        "1 different query",
        left="the index as it was",
    ),
    Case(
        title="a log of one query, asked a thousand times",
        command="tune faq.sq --queries log.txt",
        damage=file("log.txt", "how many men\n" * 1000),
        said="log.txt: a log needs at least 20 different queries that the index reads, found "
        "1 different query",
        left="the index as it was",
    ),
    Case(
        title="an empty log",
        command="tune faq.sq --queries log.txt",
        damage=file("log.txt", ""),
        said="log.txt: is empty",
    ),
    Case(
        title="what was shown, and not what was chosen",
        command=TUNED,
        damage=file("labelled.tsv", "query\tshown\nhow many men\t1|2\n"),
        said="labelled.tsv: expected a column doc, or shown and chosen, found neither",
        left="the index as it was",
    ),
    Case(
        title="a byte that is not UTF-8",
        command=TUNED,
        damage=file("labelled.tsv", LABELLED.encode() + b"caf\xe9\t1\n"),
        said=f"labelled.tsv, row 26: {ANY}",
    ),
    Case(
        title="an answer that the index does not have",
        command=TUNED,
        damage=file("labelled.tsv", LABELLED + "who eats\t77\n"),
        said="labelled.tsv, row 26: doc '77' is neither an id nor a question of the index",
        left="the index as it was",
    ),
    Case(
        title="five queries",
        command=TUNED,
        damage=file("labelled.tsv", "".join(LABELLED.splitlines(keepends=True)[:6])),
        said="labelled.tsv: tuning needs at least 20 queries, 10 of them with an answer; found "
        "5 queries, 5 with an answer",
        left="the index as it was",
    ),
    Case(
        title="no query that has an answer",
        command=TUNED,
        damage=file("labelled.tsv", "query\tdoc\n" + "".join(f"a{n}\t\n" for n in range(30))),
        said="labelled.tsv: no query has an answer in the index, so that nothing can be learned",
        left="the index as it was",
    ),
    Case(
        title="a query with and without an answer",
        command=TUNED,
        damage=file("labelled.tsv", LABELLED + "how many men 3\t\n"),
        said="labelled.tsv, row 26: the query 'how many men 3' has an answer in one row and none "
        "in row 5",
        left="the index as it was",
    ),
    Case(
        title="a relevance that contradicts another",
        command=TUNED,
        damage=file("labelled.tsv", "query\tdoc\trelevance\na\t3\t1\na\t3\t0\n"),
        said="labelled.tsv, row 3: doc '3' has relevance 0, and 1 in row 2",
        left="the index as it was",
    ),
    Case(
        title="a click on what was not shown",
        command=TUNED,
        damage=file("labelled.tsv", f"{CLICKS}how many men\t1|2\t3\n"),
        said="labelled.tsv, row 2: chosen '3' is not among what was shown",
        left="the index as it was",
    ),
    Case(
        title="a click on a row that the index does not have",
        command=TUNED,
        damage=file("labelled.tsv", f"{CLICKS}how many men\t1 2 77\t77\n"),
        said="labelled.tsv, row 2: chosen '77' is not an id of the index",
        left="the index as it was",
    ),
    Case(
        title="shown ids that are no list",
        command=TUNED,
        damage=file("labelled.tsv", f'{CLICKS}how many men\t["1", {{}}]\t\n'),
        said="labelled.tsv, row 2: shown '[\"1\", {}]' is no JSON list of ids",
        left="the index as it was",
    ),
    Case(
        title="an `--aim` that is none",
        command=f"{TUNED} --aim much",
        damage=file("labelled.tsv", LABELLED),
        said="aim is 'much', expected precision=P or coverage=C, each above 0 and below 1, such as "
        "precision=0.9",
        left="the index as it was",
    ),
]


def write_index(place: Path, model: Path) -> None:
    """The sound file and its index."""
    from softquery.search import Index

    text = "id,question,answer\n" + "".join(",".join(row.values()) + "\n" for row in FAQ)
    (place / "faq.csv").write_text(text, encoding="utf-8")
    Index.build(place / "faq.csv", place / "faq.sq", model=model, threads=1)
