"""The renderer: what it writes is read back by a real shell as what was meant."""

import subprocess

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.desired import environment_text
from templates.render import render

VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("server/launch.sh.j2", release="r")


@given(st.dictionaries(st.from_regex(r"[A-Z][A-Z0-9_]{0,8}X", fullmatch=True), VALUES, max_size=4))
def test_a_shell_reads_every_environment_value_back(environment: dict[str, str]) -> None:
    """Whatever the values hold (quotes, newlines, dollars), sourcing server.env sets exactly them."""
    text = environment_text(environment, {})
    script = "set -a\n. /dev/stdin\nset +a\nexec env -0"
    done = subprocess.run(["/bin/sh", "-c", script], input=text.encode(), capture_output=True, check=True)
    got = dict(line.split("=", 1) for line in done.stdout.decode().split("\0") if "=" in line)
    assert {name: got[name] for name in environment} == environment


@given(st.lists(VALUES.filter(lambda word: "RELEASE" not in word), max_size=5))
def test_launch_sh_execs_exactly_the_words_that_were_meant(words: list[str]) -> None:
    """No word of the serve command is split, expanded or run."""
    text = render(
        "server/launch.sh.j2", release="r", folder="/nowhere", venv="/v", argv=["printf", "%s\\0", "|", *words]
    )
    body = text.replace('. "$release/server.env"', ":")
    done = subprocess.run(["/bin/sh", "-s"], input=body.encode(), capture_output=True, check=True)
    assert done.stdout.decode().partition("|\0")[2].split("\0")[:-1] == words
