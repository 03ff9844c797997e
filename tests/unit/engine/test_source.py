"""engine.source is read as one of six forms, and refused as any other."""

import pytest

from inventory.errors import UsageError
from roles.engine.source import parse


@pytest.mark.parametrize(
    ("text", "kind", "ref", "title"),
    [
        ("release:0.33.0", "release", None, "release 0.33.0"),
        ("pr:40898", "pr", "refs/pull/40898/head", "pull request 40898"),
        ("commit:" + "ab" * 20, "commit", None, "commit " + "ab" * 20),
        ("branch:releases/v0.33", "branch", "refs/heads/releases/v0.33", "branch releases/v0.33"),
        ("wheel:https://e.org/a.whl", "wheel", None, "the wheel https://e.org/a.whl"),
        ("path:/srv/vllm", "path", None, "the checkout /srv/vllm"),
    ],
)
def test_form_is_read(text: str, kind: str, ref: str | None, title: str) -> None:
    source = parse(text)
    assert (source.kind, source.ref, source.title, str(source)) == (kind, ref, title, text)
    assert source.pull_request == (40898 if kind == "pr" else None)


@pytest.mark.parametrize(
    "text", ["", "pr", "pr:", "pr:0", "pr:4 0", "commit:abc", "branch:-x", "path:srv", "tag:v1", "pr:7\n"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)
