"""The engine's source as a git repository with pull requests: what `engine.source: pr:40898` is resolved against.

Commits carry fixed authors and dates, so the same stand-in gives the same shas everywhere.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).parent / "engine"

_FIRST_DATE_S = 1_776_700_000
"""Unix time of the first commit; each further one is an hour later."""

_PERSON = "Lab <lab@example.invalid>"
_UNDEFINED_SYMBOL = '''\
"""Stands in for the compiled kernels, which a wrong pair of Python tree and wheel cannot load."""

raise ImportError(
    f"{__file__.removesuffix('.py')}.abi3.so: undefined symbol: "
    "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
)
'''

Files = Mapping[str, str]
"""Contents by path inside the repository."""


@dataclass(frozen=True)
class _Pull:
    """A pull request: its subject, the values of features.py that it changes, and other files that it changes."""

    subject: str
    features: Mapping[str, object] = field(default_factory=dict)
    files: Files = field(default_factory=dict)


_PULLS = {
    40727: _Pull("Feed the drafter the layers that it was trained on", {"LAYER_ID_OFFSET": 1}),
    40898: _Pull(
        "Run the sliding layers of a DFlash drafter as such", {"LAYER_ID_OFFSET": 1, "HONOURS_LAYER_TYPES": True}
    ),
    50001: _Pull("Break the pair of Python tree and kernels", files={"vllm/_C.py": _UNDEFINED_SYMBOL}),
    50002: _Pull("Need more memory than there is", {"FAULT": "out of memory at start"}),
    50003: _Pull("Die at the first request", {"FAULT": "dies at the first request"}),
    50004: _Pull(
        "Change a kernel, which needs compiling",
        {"LAYER_ID_OFFSET": 1, "HONOURS_LAYER_TYPES": True},
        {"csrc/layernorm_kernels.cu": "// A change that only a compiler can bring into an installation.\n"},
    ),
    32374: _Pull(
        "Draft as many tokens as pay at the batch size",
        {
            "VERSION": "0.33.0.dev1+pr32374",
            "LAYER_ID_OFFSET": 1,
            "HONOURS_LAYER_TYPES": True,
            "BATCH_SIZE_TABLE": True,
        },
    ),
}


_HISTORY = (
    ("Begin the stand-in", {"VERSION": "0.20.0.dev1"}),
    ("Release 0.20.0", {"VERSION": "0.20.0"}),
    ("Count what is left of a window", {"VERSION": "0.20.1.dev1"}),
    ("Release 0.20.1", {"VERSION": "0.20.1"}),
)
_PULLS_LEAVE_AT = 2


@dataclass(frozen=True)
class Repository:
    """A bare repository. main and base are shas, base is where the pull requests left main; pulls: sha by number."""

    folder: Path
    main: str
    base: str
    pulls: dict[int, str]

    @property
    def url(self) -> str:
        """Where git finds it."""
        return self.folder.as_uri()

    def force_push(self, number: int) -> str:
        """Replace the head of a pull request, as its author may do at any time. Returns the new sha."""
        replaced = self.pulls[number][:7]
        commit = _pull_commit(
            number, self.base, hour=100, note=f"Replaces {replaced}.", local=f"pr{number}.after.{replaced}"
        )
        (self.pulls[number],) = _import(self.folder, [commit])
        return self.pulls[number]


def make(folder: Path) -> Repository:
    """Create the repository at `folder`, which must not exist: main, tags v0.20.0 and v0.20.1, pull requests."""
    _git("init", "--quiet", "--bare", "--initial-branch=main", str(folder))
    for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):  # as the big forges have it
        _git("-C", str(folder), "config", key, "true")
    source = _source()
    history = _import(
        folder,
        [
            _Commit("refs/heads/main", subject, _with_features(source, values), hour)
            for hour, (subject, values) in enumerate(_HISTORY)
        ],
    )
    for (_, values), sha in zip(_HISTORY, history, strict=True):
        if "dev" not in values["VERSION"]:
            _git("-C", str(folder), "tag", f"v{values['VERSION']}", sha)
    base = history[_PULLS_LEAVE_AT]
    heads = _import(
        folder,
        [
            _pull_commit(number, base, hour=10 + order, note="", local=f"pr{number}")
            for order, number in enumerate(_PULLS)
        ],
    )
    return Repository(folder, history[-1], base, dict(zip(_PULLS, heads, strict=True)))


@dataclass(frozen=True)
class _Commit:
    """A commit on `ref`, on top of `parent` or else of the ref's last one; hour dates it."""

    ref: str
    message: str
    files: Files
    hour: int
    parent: str | None = None

    def stream(self, mark: int) -> bytes:
        """Return the commit in git fast-import's language."""
        when = f"{_PERSON} {_FIRST_DATE_S + 3600 * self.hour} +0000"
        message = f"{self.message}\n".encode()
        parts = [
            f"commit {self.ref}\nmark :{mark}\nauthor {when}\ncommitter {when}\ndata {len(message)}\n".encode()
            + message,
            f"from {self.parent}\n".encode() if self.parent else b"",
            b"deleteall\n",
        ]
        for path, text in self.files.items():
            content = text.encode()
            parts.append(f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n")
        return b"".join(parts)


def _pull_commit(number: int, base: str, *, hour: int, note: str, local: str) -> _Commit:
    """Return the head of a pull request; `local` tells its version from that of main."""
    pull = _PULLS[number]
    version = f"{_HISTORY[_PULLS_LEAVE_AT][1]['VERSION']}+{local}"
    files = _with_features(_source(), {"VERSION": version, **pull.features}) | dict(pull.files)
    return _Commit(f"refs/pull/{number}/head", f"{pull.subject}\n\n{note}".strip(), files, hour, base)


def _source() -> dict[str, str]:
    names = ("pyproject.toml", "backend.py", "csrc/*", "vllm/*.py")
    paths = sorted(path for name in names for path in SOURCE.glob(name))
    return {path.relative_to(SOURCE).as_posix(): path.read_text() for path in paths}


def _with_features(source: Files, values: Mapping[str, object]) -> dict[str, str]:
    """Return the source with other values in features.py. Raises ValueError for a name that it does not have."""
    text = source["vllm/features.py"]
    for name, value in values.items():
        text, changed = re.subn(rf"(?m)^{name} = .*$", f"{name} = {value!r}", text)
        if changed != 1:
            raise ValueError(f"features.py has no {name}")
    return {**source, "vllm/features.py": text}


def _import(folder: Path, commits: Sequence[_Commit]) -> list[str]:
    """Write the commits in one go; returns their shas."""
    marks = range(1, len(commits) + 1)
    stream = b"".join(commit.stream(mark) for mark, commit in zip(marks, commits, strict=True))
    asked = b"".join(f"get-mark :{mark}\n".encode() for mark in marks)
    shas = _git("-C", str(folder), "fast-import", "--quiet", "--force", stdin=stream + asked)
    return shas.decode().split()


def _git(*words: str, stdin: bytes = b"") -> bytes:
    """Run git without the user's configuration. Raises CalledProcessError."""
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(["git", *words], input=stdin, env=environment, check=True, stdout=subprocess.PIPE).stdout
