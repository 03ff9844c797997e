"""Values that look like secrets in places where everybody can read them."""

import re
from collections.abc import Iterator

from inventory.located import Located

_NAME = re.compile(
    r"TOKEN(?!S|IZ|_IDS?(_|$))"  # not MAX_TOKENS, TOKENIZERS_PARALLELISM, MASK_TOKEN_ID
    r"|PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIAL|APIKEY"
    r"|(?<![A-Z])KEY\d*(_|$)",
    re.IGNORECASE,
)
_NAME_OF_A_FILE = re.compile(r"_(FILE|PATH|DIR)$", re.IGNORECASE)
_HARMLESS = re.compile(r"|true|false|yes|no|on|off|auto|none|\d{1,6}", re.IGNORECASE)

_VALUE = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"hf_(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{6,}"  # Hugging Face; hf_overrides is a word
    r"|sk-(?!ssh-|ecdsa-)(?=[a-z-]*[A-Z0-9])[A-Za-z0-9_-]{6,}"  # OpenAI and its kin; sk-ssh-... is a public key
    r"|gh[opsu]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|nvapi-[A-Za-z0-9_-]{16,}|xox[abpr]-[A-Za-z0-9-]{8,}|AKIA[A-Z0-9]{16}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\."  # a JSON web token
    r"|Bearer [A-Za-z0-9._~+/=-]{8,})"
    r"|PVEAPIToken=\S+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|://[^/@\s:]*:[^/@\s]+@"  # a password in a URL
)

USE_SECRETS = "put a reference under server.secrets: NAME: env:NAME, file:PATH or command:ARGV"

_TAKE_IT_OUT = "take it out of this file; git, pip and uv find the password of a URL in the host's ~/.netrc"


def is_secret_name(name: str) -> bool:
    """Whether a variable or flag of this name holds a secret, as far as a name can tell."""
    name = name.lstrip("-").replace("-", "_")
    return _NAME.search(name) is not None and _NAME_OF_A_FILE.search(name) is None


def is_secret_value(text: str) -> bool:
    """Whether a text has the form of a known kind of secret."""
    return _VALUE.search(text) is not None


def leaks(tree: Located) -> Iterator[tuple[tuple[str | int, ...], Located, str, str]]:
    """What in a host's or node's tree looks like a secret: path, value, message, hint. Never the value itself."""
    for path, leaf in tree.walk():
        if isinstance(leaf.value, str) and is_secret_value(leaf.value):
            hint = USE_SECRETS if path[:1] == ("server",) else _TAKE_IT_OUT
            yield path, leaf, "looks like a secret; the value is not shown", hint
        elif path[1:2] == ("env",) and len(path) == 3 and _named_so(str(path[2]), leaf.value):
            hint = USE_SECRETS if path[0] == "server" else _TAKE_IT_OUT
            yield path, leaf, "has the name of a secret; the value is not shown", hint
    server = tree.children.get("server")
    arguments = server.children.get("args") if server else None
    words = arguments.value if arguments and isinstance(arguments.value, tuple) else ()
    for index, word in enumerate(words):
        flag, joined, value = str(word.value).partition("=")
        if not flag.startswith("-") or not is_secret_name(flag):
            continue
        follower = words[index + 1].value if index + 1 < len(words) else ""
        given = value if joined else "" if str(follower).startswith("-") else follower
        if _named_so(flag, given):
            path = ("server", "args", index)
            yield (
                path,
                word,
                f"{flag} passes a secret on the command line, where every process can read it",
                USE_SECRETS,
            )


def _named_so(name: str, value: object) -> bool:
    return is_secret_name(name) and _HARMLESS.fullmatch(str(value)) is None
