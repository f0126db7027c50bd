"""Texts that no single place of the sources says: those of others, and what is put together."""

PARSER_TEXTS = (
    "Show this message and exit.",
    "no such option: {option}",
    "no such option: {option} Did you mean {other}?",
    "no such option: {option} (Possible options: {others})",
    "no such command {command}",
    "no such command {command}. Did you mean {other}?",
    "no such command {command}. (Possible commands: {others})",
    "missing option {option}",
    "missing argument {argument}",
    "missing command",
    "missing parameter: {parameter}",
    "got unexpected extra argument ({words})",
    "got unexpected extra arguments ({words})",
    "got unexpected extra argument(s) ({words})",
    "invalid value for {option}: {problem}",
    "{option} requires an argument",
    "option {option} requires an argument",
    "option {option} requires {count} arguments",
    "option {option} does not take a value",
    "{value} is not a valid {kind}",
    "{value} is not a valid {kind} range",
    "{value} is not in the range {bounds}",
    "{value} is not one of {choices}",
    "{kind} {path} does not exist",
)
"""What Typer's parser says, with a small first letter and without its full stop."""

SYSTEM_TEXTS = (
    "Address already in use",
    "Broken pipe",
    "cannot assign requested address",
    "address already in use",
    "permission denied",
    "Directory not empty",
    "File exists",
    "File name too long",
    "Input/output error",
    "Is a directory",
    "No space left on device",
    "No such file or directory",
    "Not a directory",
    "Operation not permitted",
    "Permission denied",
    "Read-only file system",
    "Too many open files",
)
"""What the operating system says of files and addresses, as Python names it."""

COMPOSED_TEXTS = (
    "{name} reads running text, which has no columns",
    "{name} takes all cores or one GPU in one process",
    "{name} begins anew, with random vectors",
    "{name} reads characters, not word vectors",
    "{name} makes word vectors, and reads none",
    "{name} is no file of a bundle",
    "{name} may be a pickle, which can run code and is never loaded",
    "{name} unpacks to more than {times} times its size, {number} bytes",
    "{option} is for matchers, which learn from --pairs without --texts",
    "{option} is for sentence encoders, which need --texts",
    "hidden_size ({size}) must be divisible by num_heads ({heads})",
    "{name} must be positive, got {value}",
    "{name} must not be negative, got {value}",
    "{number} row is in {languages}",
    "{number} rows are in {languages}",
    "no mask in it; write {mask} where a word is asked for",
    'no mask in it; write {mask} instead of "{gap}"',
    "expected {kind} to start from, found {found}",
    "the query is in {language}, which {name} does not read; scores mean little",
    "the query is in {language}, which {names} do not read; scores mean little",
    "no model called {name}; did you mean {near}? {known}",
    "no model called {name}; {known}",
    "tuning needs at least {least} queries, {answerable} of them with an answer; found {found}",
    "bias has {bias} numbers for {labels} labels",
)
"""What the sources put together of parts that the syntax tree does not show side by side."""

FOREIGN_TEXTS = {
    **dict.fromkeys(PARSER_TEXTS, "the parser of commands"),
    **dict.fromkeys(SYSTEM_TEXTS, "the operating system"),
    **dict.fromkeys(COMPOSED_TEXTS, "put together"),
}
