"""What a host says about its builds: a real shell's answer, and any text at all."""

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from inventory.models import Engine
from roles.engine.facts import EngineFacts, parse, question
from roles.engine.provenance import FILE, Provenance
from tests.unit.engine.upstream import git, make

RELEASE = Engine(source="release:0.33.0")


def ask(base: Path, engine: Engine = RELEASE) -> EngineFacts:
    answer = subprocess.run(["dash", "-c", question(str(base), engine)], capture_output=True, text=True, check=True)
    assert answer.stderr == ""
    facts = parse(answer.stdout)
    assert facts.unread == ()
    return facts


def test_whole_builds_are_told_from_unfinished_ones(tmp_path: Path) -> None:
    built = Provenance(kind="vllm", source="pr:7", commit="0a" * 20, version="1.0")
    for name, text in {"vllm-a-1": built.text(), "vllm-b-2": None, "vllm-c-3": "{}"}.items():
        (tmp_path / "venvs" / name).mkdir(parents=True)
        if text is not None:
            (tmp_path / "venvs" / name / FILE).write_text(text)
    facts = ask(tmp_path)
    assert facts.venvs == {"vllm-a-1": built}
    assert facts.incomplete == ("vllm-b-2", "vllm-c-3")


def test_pushed_uv_is_found_with_its_version(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/uv-0.13.9").touch(0o755)
    (tmp_path / "bin/uv-0.13.8").touch(0o644)
    assert ask(tmp_path).uv["0.13.9"] == f"{tmp_path}/bin/uv-0.13.9"
    assert "0.13.8" not in ask(tmp_path).uv


def test_host_without_anything_of_ours_still_tells_about_itself(tmp_path: Path) -> None:
    facts = ask(tmp_path / "not/there")
    assert facts.venvs == {}
    assert facts.free_bytes
    assert facts.memory_bytes
    assert facts.arch
    assert facts.python
    assert "flock" in facts.tools


def test_python_that_the_inventory_wants_is_asked_for(tmp_path: Path) -> None:
    assert ask(tmp_path, Engine(source="release:0.33.0", python="3.0")).python is None


def test_checkout_on_the_host_says_its_commit(tmp_path: Path) -> None:
    checkout = make(tmp_path / "vllm").folder
    facts = ask(tmp_path, Engine(source=f"path:{checkout}"))
    assert (facts.path_exists, facts.path_commit) == (True, git(checkout, "rev-parse", "HEAD"))
    gone = ask(tmp_path, Engine(source=f"path:{checkout}/gone"))
    assert (gone.path_exists, gone.path_commit) == (False, None)


words = st.sampled_from(["venv ", "uv ", "tool git", "free_kib ", "path_commit ", "\n", "1.2.3", " /x"])


@given(st.text() | st.lists(words).map("".join))
def test_any_text_is_read_without_an_exception(answer: str) -> None:
    """Property: no answer raises, and no uv is believed in that is not an absolute path."""
    assert all(path.startswith("/") for path in parse(answer).uv.values())
