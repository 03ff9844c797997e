"""A PosixShell on this machine: what the scripts do, without a line."""

import subprocess
from collections.abc import Callable, Mapping

from inventory.secrets import Redactor
from inventory.ssh.posix import OUTPUT_LIMIT_BYTES, Output, PosixShell, Stdin


class Here(PosixShell):
    """Runs scripts with `sh`. `scripts` keeps them."""

    def __init__(self, sh: str = "/bin/sh", env: Mapping[str, str] | None = None) -> None:
        self._sh = sh
        self._env = env
        self.redact = Redactor()
        self.scripts: list[str] = []

    @property
    def name(self) -> str:
        return "here"

    def execute(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: Stdin = (),
        on_stdout: Callable[[bytes], None] | None = None,
        limit_bytes: int = OUTPUT_LIMIT_BYTES,
    ) -> Output:
        self.scripts.append(script)
        data = b"".join(part if isinstance(part, bytes) else part.read() for part in stdin)
        done = subprocess.run(
            [self._sh, "-c", script], input=data, capture_output=True, timeout=timeout_s, check=False, env=self._env
        )
        if on_stdout:
            on_stdout(done.stdout)
        return Output(done.returncode, done.stdout, done.stderr)

    def close(self) -> None:
        pass
