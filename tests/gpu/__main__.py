"""`./run gpu`: look at this machine's GPU, and with a model and a drafter sweep k through the engine that is here."""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from inventory.errors import SpecrailError
from inventory.secrets import Redactor
from tests.gpu.doctor import Doctor, doctor
from tests.gpu.here import HereShell
from tests.gpu.result import Result
from tests.gpu.serving import Machine, Wish
from tests.gpu.sweep import Failed, Load, Measured, foretold, sweep

_INTERRUPTED = 130  # as a shell has it for SIGINT
_EXAMPLE = "example: ./run gpu --model /models/Qwen3-8B --drafter /models/Qwen3-8B-DFlash --html gpu.html"


def main(argv: list[str] | None = None) -> int:
    """Returns the exit status: 0 when all that was tried worked, 1 when not, 2 for wrong usage."""
    asked = _parser().parse_args(argv)
    venv = asked.venv or _venv_on_path()
    console = Console(stderr=True)
    try:
        found = doctor(HereShell(Redactor()), str(venv) if venv else None)
        _say(found.lines())
        result = _swept(found, asked, venv, console)
    except KeyboardInterrupt:
        sys.stderr.write("gpu: interrupted; the server is stopped, and --json and --html hold what was measured\n")
        return _INTERRUPTED
    except SpecrailError as error:
        told = (f"gpu: {error.what}", *(f"  {why}" for why in error.why), *(f"  try: {one}" for one in error.tries))
        sys.stderr.write("\n".join((*told, "")))
        return int(error.exit_code)
    _say(result.lines())
    return 0 if result.good else 1


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./run gpu", description=__doc__, epilog=_EXAMPLE)
    parser.add_argument("--model", type=_folder, help="folder of the target; without one there is only the look")
    parser.add_argument("--drafter", type=_folder, help="folder of the drafter")
    parser.add_argument("--method", default="dflash", help="how it drafts (default: dflash)")
    parser.add_argument("--venv", type=Path, help="folder with bin/vllm and bin/python (default: that of vllm on PATH)")
    parser.add_argument(
        "--tokens",
        type=_numbers,
        help="numbers of speculative tokens, 15,7,3,0 (default: the drafter's most, halves, 0)",
    )
    parser.add_argument("--concurrency", type=_streams, default=(1,), help="streams at once, 1,8 (default: 1)")
    parser.add_argument("--prompts", default="20", help="how many of the fixed ones, or a JSONL file (default: 20)")
    parser.add_argument("--max-tokens", type=int, default=128, help="an answer's (default: 128)")
    parser.add_argument("--max-model-len", type=int, metavar="N", help="server.max_model_len")
    parser.add_argument("--gpu-memory-utilization", type=float, metavar="SHARE", help="server.gpu_memory_utilization")
    parser.add_argument("--arg", action="append", default=[], metavar="WORD", help="one more word for vllm serve")
    parser.add_argument("--env", action="append", type=_pair, default=[], metavar="NAME=VALUE", help="for the engine")
    parser.add_argument(
        "--without-gpu", action="store_true", help="sweep although no GPU is fit (to try the tier itself)"
    )
    parser.add_argument("--folder", type=Path, help="where releases and logs go, and stay (default: a temporary one)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--html", type=Path, metavar="FILE")
    return parser


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is no folder")
    return Path(text)


def _numbers(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d{1,3}(,\d{1,3})*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers like 7,3,1")
    return tuple(map(int, text.split(",")))


def _streams(text: str) -> tuple[int, ...]:
    if 0 in (found := _numbers(text)):
        raise argparse.ArgumentTypeError("0 streams make no load")
    return found


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _venv_on_path() -> Path | None:
    found = shutil.which("vllm")
    return Path(found).resolve().parents[1] if found else None


def _swept(found: Doctor, asked: argparse.Namespace, venv: Path | None, console: Console) -> Result:
    """Sweep, and keep what is known so far after each k: a sweep takes minutes, and the next k may end it."""
    why = _why_not(found, asked, venv)
    result = Result(found, None, (), (), {}, why)
    if why is not None or venv is None:
        return _kept(result, asked)
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="specrail-gpu-"))
    load = Load(asked.prompts, asked.max_tokens, asked.concurrency)
    measured: list[Measured] = []
    failed: list[Failed] = []
    with Machine(_wish(asked, venv), folder.absolute(), found.engine, console) as machine:
        ks = list(asked.tokens or halves(machine.largest))
        report = machine.report(max(ks))
        for one in sweep(machine, ks, load):
            if isinstance(one, Measured):
                measured.append(one)
            else:
                failed.append(one)
                console.print(f"k={one.k} failed: {one.why}", markup=False)
            told = {streams: made for streams in load.concurrencies if (made := foretold(measured, streams))}
            result = _kept(Result(found, report, tuple(measured), tuple(failed), told, None), asked)
    console.print(f"logs and releases: {folder}", markup=False)
    return result


def _wish(asked: argparse.Namespace, venv: Path) -> Wish:
    return Wish(
        venv=venv.absolute(),
        model=asked.model.absolute(),
        drafter=asked.drafter.absolute() if asked.drafter else None,
        method=asked.method,
        max_model_len=asked.max_model_len,
        gpu_memory_utilization=asked.gpu_memory_utilization,
        args=tuple(asked.arg),
        env=tuple(asked.env),
    )


def _kept(result: Result, asked: argparse.Namespace) -> Result:
    if asked.json:
        asked.json.write_text(json.dumps(result.as_json(), indent=1, default=str) + "\n")
    if asked.html:
        asked.html.write_text(result.page())
    return result


def halves(largest: int) -> list[int]:
    """15 -> 15, 7, 3, 1, 0."""
    ks = [largest]
    while ks[-1]:
        ks.append(ks[-1] // 2)
    return ks


def _why_not(found: Doctor, asked: argparse.Namespace, venv: Path | None) -> str | None:
    if asked.model is None:
        return "no sweep without --model"
    if venv is None or not os.access(venv / "bin" / "vllm", os.X_OK):
        return "no sweep without an engine: there is no vllm on PATH, and --venv names none"
    if not found.well and not asked.without_gpu:
        return "no sweep: this machine is not fit for an engine, see above"
    return None


if __name__ == "__main__":
    sys.exit(main())
