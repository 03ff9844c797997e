"""`invoke acceptance` on files: what a person types, then stdout, stderr and exit code."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from playbooks.acceptance import Options, run_files
from tests.unit.acceptance.cases import load, paths
from tests.unit.acceptance.printed_logs import log
from tests.unit.acceptance.simulate import ALL_WRONG_C1, RIGHT_K15
from tests.unit.acceptance.test_histories import printed

CHECKOUT = Path(__file__).parents[3]
INVOKE = [str(Path(sys.executable).with_name("invoke")), "acceptance"]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "good.log").write_bytes(log(RIGHT_K15))
    (tmp_path / "bad.log").write_bytes(log(ALL_WRONG_C1))
    (tmp_path / "few.log").write_bytes(log(RIGHT_K15, windows=1, rounds=1))
    return tmp_path


def typed(*words: str, stdin: bytes = b"") -> tuple[int, str, str]:
    done = subprocess.run([*INVOKE, *words], input=stdin, capture_output=True, cwd=CHECKOUT, timeout=120, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_files_after_one_another_are_one_log(logs: Path) -> None:
    code, out, err = typed("--log", str(logs / "good.log"), str(logs / "good.log"), "--json")
    document = json.loads(out)
    assert (code, err, document["verdict"], document["windows"]) == (0, "", "pass", 60)


def test_stdin_is_a_log(logs: Path) -> None:
    code, out, _ = typed("--log", "-", stdin=(logs / "bad.log").read_bytes())
    assert code == 1
    assert out.splitlines()[0].split() == ["acceptance", "·", "stdin", "fail"]


def test_two_logs_are_compared(logs: Path) -> None:
    code, out, _ = typed("--compare", str(logs / "good.log"), str(logs / "bad.log"))
    assert code == 1
    assert out.splitlines()[0].split()[:5] == ["acceptance", "·", "bad.log", "against", "good.log"]


@pytest.mark.parametrize(
    ("case", "code", "said"),
    [
        ("upgrade-changed-a-default-compared", 1, "most likely: the engine changed from vLLM 0.27.1 to vLLM 0.28.0"),
        ("upgrade-changed-a-default", 1, "where vLLM 0.27.1 became 0.28.0"),
        ("k-15-against-k-5", 0, "acceptance rates do not compare"),
        ("slow-decay", 0, "drift: 3.0"),
        ("slower-than-no-speculation", 1, "slower than without speculation: 200.0 ->"),
    ],
)
def test_public_reports_are_judged_as_they_turned_out(case: str, code: int, said: str, tmp_path: Path) -> None:
    """3.19 to 2.66 is an upgrade's, 12 % at k=15 after 43 % at k=5 is nobody's, 3.07 to 2.80 over hours is a slide."""
    told = load(next(path for path in paths("histories") if path.stem == case))
    after, before = tmp_path / "after.log", tmp_path / "before.log"
    after.write_bytes(printed(told["pieces"]))
    words = ["--log", str(after)]
    if "before" in told:
        before.write_bytes(printed(told["before"]))
        words = ["--compare", str(before), str(after)]
    ended, out, err = typed(*words)
    assert (ended, err) == (code, "")
    assert said in out
    assert ("step:" in out) == ("step" in told["changes"])


@pytest.mark.parametrize(
    ("logs_given", "options", "said"),
    [
        ((), Options(), "nothing to read"),
        (("/nowhere/serve.log",), Options(), "No such file"),
        (("/",), Options(), "Is a directory"),
        ((), Options(compare=("a.log",)), "wants two things, not 1"),
        (("a.log",), Options(seconds="5"), "--seconds counts on a host"),
        (("a.log",), Options(seconds="soon"), "not 'soon'"),
        (("a.log",), Options(compare=("a.log", "b.log")), "names both of its files"),
    ],
)
def test_wrong_usage_is_told(
    logs_given: tuple[str, ...], options: Options, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_files(logs_given, options, as_json=False) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


@pytest.mark.parametrize(("name", "code"), [("good.log", 0), ("bad.log", 1), ("few.log", 4)])
def test_exit_code_is_the_verdict(logs: Path, name: str, code: int) -> None:
    assert run_files([str(logs / name)], Options(), as_json=True) == code


def test_gzip_is_recognised_whatever_its_name(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = logs / "serve.log.2"
    packed.write_bytes(gzip.compress((logs / "good.log").read_bytes()))
    assert run_files([str(packed)], Options(), as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["windows"] == 30


def test_what_powershell_writes_is_read(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = logs / "utf16.log"
    file.write_text((logs / "good.log").read_text(), encoding="utf-16")
    assert run_files([str(file)], Options(), as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["windows"] == 30


def test_a_gzip_file_that_is_cut_is_read_as_far_as_it_goes(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = logs / "serve.log.gz"
    packed.write_bytes(gzip.compress(log(RIGHT_K15, windows=3000))[:-20_000])
    assert run_files([str(packed)], Options(), as_json=True) == 0
    assert 100 < json.loads(capsys.readouterr().out)["windows"] < 3000


def test_the_last_minute_can_be_asked_for(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_files([str(logs / "good.log")], Options(since="60s"), as_json=True)
    assert json.loads(capsys.readouterr().out)["windows"] == 7
    assert run_files([str(logs / "good.log")], Options(since="yesterday"), as_json=True) == 2
    assert "yesterday" in capsys.readouterr().err


def test_what_is_neither_a_file_nor_remembered_is_told_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_files([], Options(compare=("nope", "nada")), as_json=False) == 2
    said = capsys.readouterr().err
    assert "'nope' is no run of the history and no file" in said
    assert "Try:  invoke history --all" in said
