"""Records the README's pictures: real commands on a practice ground, their real output as SVG.

Run it as: ./run python -m tests.lab.record docs
"""

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich import _export_format
from rich.console import Console
from rich.text import Text

from tests.lab.demo import CHECKOUT
from tests.lab.ground import Lab
from tests.lab.stories import STAND_IN, Scene

_WIDTH = 128
_PICTURES = {"deploy.svg": (0, 1), "bench.svg": (4,), "gate.svg": (5, 6)}
"""Picture -> the demo's scenes that it shows."""


def main(folder: Path) -> None:
    """Play every scene, keep the output, write the pictures."""
    with Lab(CHECKOUT / ".demo") as lab:
        environment = {
            **os.environ,
            "SPECRAIL_INVENTORY": str(lab.inventory.relative_to(CHECKOUT)),
            "SPECRAIL_STATE": ".demo/state",
            "PATH": f"{CHECKOUT / '.venv' / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "FORCE_COLOR": "1",
            "COLUMNS": str(_WIDTH),
        }
        played = [_play(scene, environment) for scene in STAND_IN]
    folder.mkdir(exist_ok=True)
    for name, scenes in _PICTURES.items():
        (folder / name).write_text(_picture("\n".join(played[scene] for scene in scenes)), encoding="utf-8")


def _play(scene: Scene, environment: dict[str, str]) -> str:
    done = subprocess.run(
        scene.argv, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode != scene.exit_code:
        sys.exit(f"{shlex.join(scene.argv)} ended with {done.returncode}:\n{done.stdout.decode()}")
    # The checkout's own path says nothing to a reader.
    output = done.stdout.decode().replace(str(CHECKOUT), "~/specrail")
    return f"\x1b[1m$ {shlex.join(scene.argv)}\x1b[0m\n{output}"


def _picture(text: str) -> str:
    console = Console(record=True, width=_WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(text))
    # Without the fonts that the default format fetches from elsewhere.
    code_format = re.sub(r"@font-face \{\{.*?\}\}\s*", "", _export_format.CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="specrail", code_format=code_format)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
