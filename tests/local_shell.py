"""A Shell on this machine, for tests of what a real /bin/sh does with our scripts."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from inventory.errors import CommandError, DeadlineExceeded
from inventory.shell import Result


class LocalShell:
    """Runs scripts here. `scripts` keeps what was run."""

    name = "here"

    def __init__(self) -> None:
        self.scripts: list[str] = []

    def run(
        self,
        script: str,
        *,
        timeout_s: float = 60,
        stdin: bytes | None = None,
        check: bool = True,
        on_line: Callable[[str], None] | None = None,
    ) -> Result:
        self.scripts.append(script)
        try:
            done = subprocess.run(
                script, shell=True, input=stdin or b"", capture_output=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise DeadlineExceeded(f"{timeout_s} s were not enough") from error
        result = Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
        for line in result.stdout.splitlines() if on_line else ():
            assert on_line is not None
            on_line(line)
        if check and not result.ok:
            raise CommandError(result.stderr.strip(), exit_status=result.exit_status, where=[self.name])
        return result

    def write(self, path: str, content: bytes, *, mode: int = 0o600) -> None:
        Path(path).write_bytes(content)
        Path(path).chmod(mode)

    def read(self, path: str, *, limit_bytes: int = 1_048_576) -> bytes | None:
        file = Path(path)
        return file.read_bytes()[:limit_bytes] if file.exists() else None

    def put(self, local: Path, path: str, *, mode: int = 0o755) -> None:
        self.write(path, local.read_bytes(), mode=mode)

    def close(self) -> None:
        pass
