"""The whole story on a practice ground of its own: each step a real command, printed before it runs."""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.lab.ground import Lab

CHECKOUT = Path(__file__).resolve().parents[2]
WRONG = "tests/lab/drafters/wrong-qwen3.6-27b.json"


@dataclass(frozen=True)
class Scene:
    """What is told, the command, and the exit code that the story needs."""

    title: str
    told: str
    argv: tuple[str, ...]
    exit_code: int = 0


SCENES = (
    Scene(
        "From nothing to a server that passed its gate",
        "The container is made through the API with a token; GPU devices and host keys come through the node's root\n"
        "shell, since no token may do that. The engine is pull request 40898 at one commit. Then the gate measures.",
        ("invoke", "deploy", "--host", "ct129"),
    ),
    Scene("The same again", "Nothing to do, and it says so in seconds.", ("invoke", "deploy", "--host", "ct129")),
    Scene(
        "How fast is it, and what do the counters advise?",
        "15 tokens are drafted a round. Most of them for nothing.",
        ("invoke", "bench", "--host", "ct129"),
    ),
    Scene("Take the advice", "5 instead of 15.", ("invoke", "deploy", "--host", "ct129", "--tokens", "5")),
    Scene("What did it change?", "Compared with the last run.", ("invoke", "bench", "--host", "ct129")),
    Scene(
        "A wrong drafter config is refused",
        "Hand-written, plausible, and wrong in three fields. The static check sees it before a GPU is touched (exit 1).",
        ("invoke", "deploy", "--host", "ct129", "--drafter-config", WRONG),
        1,
    ),
    Scene(
        "Forced past the check, it runs and answers well",
        "... and accepts about 1 % of its drafts. The gate sees it after a few rounds and goes back (exit 3).",
        ("invoke", "deploy", "--host", "ct129", "--drafter-config", WRONG, "--allow-drafter-errors"),
        3,
    ),
    Scene(
        "Back to the release before",
        "A rollback is a cold start and is verified like a deploy.",
        ("invoke", "rollback", "--host", "ct129"),
    ),
    Scene("Where do we stand?", "", ("invoke", "status", "--host", "ct129")),
    Scene("Which releases are there?", "", ("invoke", "releases", "--host", "ct129")),
    Scene("What does the engine say?", "", ("invoke", "logs", "--host", "ct129", "--lines", "8")),
)

NEXT = """What next, with a node of your own:

  cp inventory/example.yml inventory/hosts.yml      and edit it: it explains every line
  ./run invoke inventory.show --host ct129          what will be true, and where each value comes from
  ./run invoke plan --host ct129                    what would be done; changes nothing
  ./run invoke deploy --host ct129

The least rights that the API token needs (exact pveum lines) are in README.md.
To go on playing here:  ./run invoke lab.up   and then   ./run invoke deploy --host ct129
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the story. Returns 0 when every step ended as the story needs."""
    parser = argparse.ArgumentParser(prog="./run demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the practice ground in .demo up afterwards")
    options = parser.parse_args(arguments)
    folder = CHECKOUT / ".demo"
    lab = Lab(folder)
    began = time.monotonic()
    try:
        _title("A practice ground: a Proxmox API, a node, two GPUs, a git repository with pull requests")
        lab.down()
        shutil.rmtree(folder, ignore_errors=True)
        lab.up()
        _say(
            "  up. Its clock runs ten times fast: times are a tenth, tok/s ten times those of the hardware it imitates."
        )
        environment = {
            **os.environ,
            "SPECRAIL_INVENTORY": str(lab.inventory.relative_to(CHECKOUT)),
            "SPECRAIL_STATE": str((folder / "state").relative_to(CHECKOUT)),
            "PATH": f"{CHECKOUT / '.venv' / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }
        for number, scene in enumerate(SCENES, start=1):
            _title(f"{number}. {scene.title}", scene.told)
            _say(f"$ {' '.join(scene.argv)}")
            code = subprocess.run(scene.argv, cwd=CHECKOUT, env=environment, check=False).returncode
            if code != scene.exit_code:
                _say(f"\nThe story needs exit code {scene.exit_code} here; this was {code}.")
                return 1
        _title(f"The end, after {time.monotonic() - began:.0f} s. The practice ground is taken down.")
        _say(NEXT)
    except KeyboardInterrupt:
        _say("\nInterrupted; the practice ground is taken down.")
        return 130
    finally:
        if not options.keep:
            lab.down()
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def _title(title: str, told: str = "") -> None:
    _say(f"\n=== {title}" + (f"\n{told}" if told else ""))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
