"""What to type: examples at the end of every verb's help. Tests parse them all."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("softquery demo", "softquery demo --samples --output ."),
    "match": (
        'softquery match "A man is eating." "Someone eats." --model nli-en',
        "softquery match --pairs pairs.tsv --output scored.jsonl",
    ),
    "rank": (
        'softquery rank "How do I pay?" --candidates questions.txt --top-k 3',
        'softquery rank "怎么付款" --candidates zh.txt --model match-zh',
    ),
    "explain": (
        'softquery explain "How do I pay?" "Can I pay by card?"',
        'softquery explain "A warm film." --model sentiment-en --output why.html',
    ),
    "index": (
        "softquery index faq.csv --output faq.sq",
        "softquery index faq.csv --output faq.sq --columns question=title,answer=body",
        "softquery index new.csv --output faq.sq --add",
        'softquery index --output faq.sq --delete "How do I pay?"',
    ),
    "search": (
        'softquery search faq.sq "How can I get a new password?"',
        'softquery search faq.sq "How do I pay?" --where category=payment --json',
        'softquery search faq.sq "How do I pay?" --explain why.html',
    ),
    "tune": (
        "softquery tune faq.sq --queries queries.tsv --dry-run",
        "softquery tune faq.sq --queries queries.tsv --aim precision=0.95",
        "softquery tune faq.sq --undo",
    ),
    "classify": (
        'softquery classify "A warm, funny film."',
        "softquery classify --input messages.csv --output labelled.jsonl --model topics",
    ),
    "embed": (
        "softquery embed questions.txt --output vectors.npz",
        "softquery embed questions.txt --model elmo-en --output words.npz --layers mix",
    ),
    "tag": (
        'softquery tag "Ada Lovelace was born in London." --model ner-en',
        "softquery tag --input texts.txt --output tagged.jsonl",
    ),
    "fill": (
        'softquery fill "The capital of France is [MASK]." --top-k 3',
        'softquery fill "They had two [MASK]." --candidates sons,daughters',
    ),
    "generate": (
        'softquery generate "Ein Hund schläft." --model translate-de-en',
        'softquery generate "一帆风顺年年好" --model couplet-zh --n-best 3',
    ),
    "read": (
        'softquery read "Who slept?" --context "Ada slept."',
        "softquery read --input questions.jsonl --output answers.jsonl",
    ),
    "train": (
        "softquery train classify messages.csv --output topics",
        "softquery train match pairs.csv --init match-en --output my-matcher",
        "softquery train esim-snli --data snli --output esim --set optim.lr=3e-4",
    ),
    "distill": ("softquery distill teacher/ --texts questions.txt --output small",),
    "evaluate": (
        "softquery evaluate match-en --data test.tsv --errors mistakes.tsv",
        "softquery evaluate faq.sq --data queries.tsv --html report.html",
        "softquery evaluate faq.sq --data queries.tsv --stages words --stages vectors",
    ),
    "calibrate": ("softquery calibrate my-model --data dev.tsv --aim precision=0.95",),
    "export": ("softquery export my-model --int8 --gate 0.5 --data dev.tsv",),
    "import elmo": ("softquery import elmo --weights elmo.hdf5 --options elmo.json --output elmo",),
    "import bert": ("softquery import bert bert-base-uncased/ --output bert",),
    "import sentence-transformers": (
        "softquery import sentence-transformers all-MiniLM-L6-v2/ --output minilm",
    ),
    "import static": ("softquery import static potion-base-8M/ --output potion",),
    "import vectors": ("softquery import vectors glove.6B.300d.txt --output glove",),
    "probe senses": ("softquery probe senses --data senses --model elmo-en",),
    "probe tags": ("softquery probe tags --data ud-ewt --model elmo-en",),
    "models": ("softquery models", "softquery models match-en"),
    "models add": (
        "softquery models add ./my-faq --name faq-en",
        "softquery models add faq_models-1.0-py3-none-any.whl",
        "softquery models add hub:acme/faq-en@v2",
    ),
    "models remove": ("softquery models remove faq-en",),
    "models pack": (
        "softquery models pack ./my-faq --name faq-en",
        "pip install dist/softquery_model_faq_en-1.0-py3-none-any.whl",
    ),
    "recipes": ("softquery recipes", "softquery recipes esim-snli"),
    "bench": ("softquery bench match", "softquery bench serve --clients 16 --seconds 10"),
    "plan": (
        "softquery plan --pairs 1e8 --hours 12 --cores 16",
        "softquery plan --questions 100000 --requests 50",
    ),
    "serve": (
        "softquery serve --model match-en --index faq.sq",
        "softquery serve --model match-en --model zh=match-zh --host 0.0.0.0 --port 80",
    ),
    "keys add": ("softquery keys add keys.txt website --rate 10/s",),
    "keys limit": ("softquery keys limit keys.txt website --quota 1000000/day",),
    "keys remove": ("softquery keys remove keys.txt website",),
    "keys list": ("softquery keys list keys.txt",),
    "mcp": ("softquery mcp --index faq.sq",),
    "doctor": ("softquery doctor", "softquery doctor --no-speed --json"),
    "vectors nearest": ("softquery vectors nearest king --model glove --top-k 5",),
    "vectors analogy": ("softquery vectors analogy man king woman --model glove",),
    "vectors similarity": ("softquery vectors similarity cat dog --model glove",),
    "vectors plot": ("softquery vectors plot --model glove --output map.png",),
    "vectors export": ("softquery vectors export --model glove --output glove.txt",),
}
"""Commands by the words that follow `softquery`."""
