"""The whole story on a practice ground of its own: each step a real command, printed before it runs."""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from inventory.errors import SpecrailError
from tests.lab.ground import Kind, Lab
from tests.lab.real import needs, wanted
from tests.lab.real.settle import settle
from tests.lab.stories import REAL, STAND_IN

CHECKOUT = Path(__file__).resolve().parents[2]


NEXT = """What next, with a node of your own:

  cp inventory/example.yml inventory/hosts.yml      and edit it: it explains every line
  ./run invoke inventory.show --host ct129          what will be true, and where each value comes from
  ./run invoke plan --host ct129                    what would be done; changes nothing
  ./run invoke deploy --host ct129

The least rights that the API token needs (exact pveum lines) are in README.md.
To go on playing here:  ./run invoke lab.up   and then   ./run invoke deploy --host ct129
"""


_REAL_COSTS = f"""  A real vLLM on this machine's CPU: {wanted.DOWNLOADS_MB} MB are downloaded from the package index, and torch for CPUs
  ({wanted.TORCH_MB} MB); 5 GB of disk, 4 GB of memory, about eight minutes on two free cores."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the story. Returns 0 when every step ended as the story needs."""
    parser = argparse.ArgumentParser(prog="./run demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the practice ground in .demo up afterwards")
    parser.add_argument("--real", action="store_true", help="with a real vLLM on this machine's CPU and a tiny model")
    parser.add_argument(
        "--containers", choices=get_args(Kind), default="sandbox", help="lxc: real ones, with systemd (root on Linux)"
    )
    options = parser.parse_args(arguments)
    folder = CHECKOUT / ".demo"
    lab = Lab(folder, containers=options.containers)
    began = time.monotonic()
    try:
        _title("A practice ground: a Proxmox API, a node, two GPUs, a git repository with pull requests")
        if options.real:
            _say(_REAL_COSTS)
            needs.check(CHECKOUT)
        lab.down()
        shutil.rmtree(folder, ignore_errors=True)
        lab.up()
        if options.real:
            settle(lab, lxc=options.containers == "lxc")
            _say("  up. Times and tok/s are this machine's own.")
        else:
            _say(
                "  up. Its clock runs ten times fast: times are a tenth, tok/s ten times those of the hardware it imitates."
            )
        environment = {
            **os.environ,
            "SPECRAIL_INVENTORY": str(lab.inventory.relative_to(CHECKOUT)),
            "SPECRAIL_STATE": str((folder / "state").relative_to(CHECKOUT)),
            "PATH": f"{CHECKOUT / '.venv' / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        }
        for number, scene in enumerate(REAL if options.real else STAND_IN, start=1):
            _title(f"{number}. {scene.title}", scene.told)
            _say(f"$ {' '.join(scene.argv)}")
            since = time.monotonic()
            code = subprocess.run(scene.argv, cwd=CHECKOUT, env=environment, check=False).returncode
            if options.real:
                _say(f"({time.monotonic() - since:.0f} s)")
            if code != scene.exit_code:
                _say(f"\nThe story needs exit code {scene.exit_code} here; this was {code}.")
                return 1
        _title(f"The end, after {time.monotonic() - began:.0f} s. The practice ground is taken down.")
        _say(NEXT)
    except KeyboardInterrupt:
        _say("\nInterrupted; the practice ground is taken down.")
        return 130
    except SpecrailError as error:
        sys.stderr.write(f"{error}\n")
        return int(error.exit_code)
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
