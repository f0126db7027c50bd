"""Bad input for `softquery serve` and `softquery keys`; `serve/hostile_serve.py` has requests."""

from hostile_cases import Case, changed, file

ADA = "ada " + 64 * "0" + "\n"
SERVE_ONE = "serve --model match-en --port 0"

SERVE = [
    Case(
        title="nothing to serve",
        command="serve",
        said="nothing to serve: give --model or --index",
    ),
    Case(
        title="a model that is not there",
        command="serve --port 0 --model none",
        said="no model called 'none'; shipped: …",
    ),
    Case(
        title="a folder that is no model",
        command="serve --port 0 --model data",
        said="data: incomplete model folder, …",
    ),
    Case(
        title="two models of one name",
        command="serve --port 0 --model match-en --model other/match-en",
        said="two --model values are called 'match-en'; rename one: --model NAME=other/match-en",
    ),
    Case(
        title="an index that is not there",
        command="serve --port 0 --index none.sq",
        said="none.sq: no such index; build one with softquery index FILE --output INDEX",
    ),
    Case(
        title="a folder that is no index",
        command="serve --port 0 --index data",
        said="data: is not an index (it has no manifest.json)",
    ),
    Case(
        title="an index whose model is gone",
        command="serve --port 0 --index faq.sq",
        said="gone/model: no such model folder",
        damage=changed("faq.sq/manifest.json", "model", to="gone/model"),
    ),
    Case(
        title="an index whose model was replaced",
        command="serve --port 0 --model match-en --index faq.sq",
        said="faq.sq: was made with another match-en (fingerprint …, today's is …); "
        "softquery index faq.sq --rebuild makes it anew with today's",
        damage=changed("faq.sq/manifest.json", "model", to="match-en"),
    ),
    Case(
        title="two indexes of one name",
        command="serve --port 0 --index faq.sq --index other/faq.sq",
        said="two --index values are called 'faq'; rename one: --index NAME=other/faq.sq",
    ),
    Case(
        title="`--uploads` that is a file",
        command=f"{SERVE_ONE} --uploads faqs.csv",
        said="--uploads faqs.csv: cannot be used (file exists)",
        damage=file("faqs.csv", "question\n"),
    ),
    Case(
        title="`--port` that is no number",
        command="serve --model match-en --port many",
        said="--port must be a number, got 'many'",
    ),
    Case(
        title="`--port` that no machine has",
        command="serve --model match-en --port 70000",
        said="port must be from 0 to 65535, got 70000",
    ),
    Case(
        title="an address that is not this machine's",
        command=f"{SERVE_ONE} --host 203.0.113.7",
        said="cannot listen at 203.0.113.7:0 (…)",
    ),
    Case(
        title="a file of keys that is not there",
        command=f"{SERVE_ONE} --keys none.txt",
        said="none.txt: cannot be read (No such file or directory)",
    ),
    Case(
        title="a file of keys that holds something else",
        command=f"{SERVE_ONE} --keys keys.txt",
        said="keys.txt, row 2: expected a name and the SHA-256 of a key",
        damage=file("keys.txt", ADA + "grace sq-not-a-hash\n"),
    ),
    Case(
        title="`--timeout 0`",
        command=f"{SERVE_ONE} --timeout 0",
        said="timeout must be a number of seconds above 0, got 0.0",
    ),
    Case(
        title="`--cors` that is no origin",
        command=f"{SERVE_ONE} --cors example.org",
        said="cors takes origins such as https://example.org, got 'example.org'",
    ),
]
KEYS = [
    Case(
        title="a name with spaces",
        command="keys add keys.txt 'Ada Lovelace'",
        said="a key's name may have up to 64 letters, digits and ._@-",
    ),
    Case(
        title="a name that has a key",
        command="keys add keys.txt ada",
        said="keys.txt: already holds a key called 'ada'",
        damage=file("keys.txt", ADA),
    ),
    Case(
        title="a folder that is not there",
        command="keys add none/keys.txt ada",
        said="none/keys.txt: cannot be written (no such folder)",
    ),
    Case(
        title="a key that is not there",
        command="keys remove keys.txt grace",
        said="keys.txt: holds no key called 'grace'",
        damage=file("keys.txt", ADA),
    ),
    Case(
        title="a file that is not there",
        command="keys list none.txt",
        said="none.txt: cannot be read (No such file or directory)",
    ),
    Case(
        title="a file without keys",
        command="keys list keys.txt",
        said="keys.txt holds no keys",
        damage=file("keys.txt", "# nobody yet\n"),
    ),
    Case(
        title="a file in another encoding",
        command="keys list keys.txt",
        said="keys.txt: cannot be read (not valid UTF-8)",
        damage=file("keys.txt", b"caf\xe9 " + 64 * b"0"),
    ),
    Case(
        title="a folder in place of the file",
        command="keys add data ada",
        said="data: cannot be read (Is a directory)",
    ),
    Case(
        title="no name",
        command="keys add keys.txt",
        said="missing argument 'name'; see softquery keys add --help",
    ),
    Case(
        title="two keys of one name",
        command="keys list keys.txt",
        said="keys.txt, row 2: a second key has the name 'ada'",
        damage=file("keys.txt", ADA + ADA),
    ),
]
