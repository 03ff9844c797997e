"""Words of a verb's own: as many as are there, wherever its flags stand."""

import shlex
import sys

import pytest
from invoke import Collection
from invoke.parser import Parser

from playbooks.verbs import bench


@pytest.mark.parametrize(
    ("line", "runs", "html"),
    [
        ("bench.compare 1 last file.json", ["1", "last", "file.json"], None),
        ("bench.compare 1 --html page.html last --json", ["1", "last"], "page.html"),
        ("bench.compare --json --host ct129 1 2", ["1", "2"], None),
        ("bench.compare --host=ct129 status 2", ["status", "2"], None),
        ("bench.compare --runs 1 2", ["1", "2"], None),
        ("bench.compare", None, None),
    ],
)
def test_every_word_is_a_run(
    line: str, runs: list[str] | None, html: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(line)
    monkeypatch.setattr(sys, "argv", ["invoke", *words])
    (found,) = Parser(Collection("bench", bench.bench_compare).to_contexts()).parse_argv([words[0][6:], *words[1:]])
    assert (found.as_kwargs["runs"], found.as_kwargs["html"]) == (runs, html)
