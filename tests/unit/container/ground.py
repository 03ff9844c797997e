"""The node's root shell for these tests, and a token with the rights that the README's lines give."""

import shlex
from collections.abc import Callable
from pathlib import Path

from fakepve.model import PveError

from inventory.errors import CommandError
from inventory.models import Container
from inventory.pve import rights
from inventory.shell import Result
from tests.unit.fake_node import TOKEN, FakeNode

FILE = "ubuntu-24.04-standard_24.04-2_amd64.tar.zst"
TEMPLATE = f"local:vztmpl/{FILE}"


def want(**changes: object) -> Container:
    """Container 129 from the template that `grant_role` puts on the node."""
    return Container.model_validate({"ctid": 129, "template": TEMPLATE, **changes})


def prepare(fake: FakeNode, *, without: str = "") -> None:
    """The template, and the role for the token where it needs it; `without` an ACL path or a privilege."""
    fake.store_file("local", FILE, 1, content="vztmpl")
    for path in ("/vms/129", "/storage/local-lvm", "/storage/local", "/sdn/zones/localnetwork/vmbr0", "/nodes/pve1"):
        privileges = [name for name in rights.PRIVILEGES if name != without]
        fake.grant(TOKEN, path, *([] if path == without else privileges))


class RootShell:
    """Carries out `pct set` as root@pam on the fake; keeps what was run. `missing` are device nodes it does not have."""

    name = "pve1"

    def __init__(self, fake: FakeNode) -> None:
        self.fake = fake
        self.scripts: list[str] = []
        self.missing: set[str] = set()

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
        pct, verb, ctid, *options = shlex.split(script)
        assert (pct, verb) == ("pct", "set")
        values = {key.removeprefix("--"): value for key, value in zip(options[::2], options[1::2], strict=True)}
        if gone := self.missing & {value.split(",")[0] for value in values.values()}:
            return Result(255, "", f"Device {min(gone)} does not exist\n")
        try:
            self.fake.call(self.fake._lxc_config_put("root@pam", {"node": "pve1", "vmid": ctid, **values}))
        except PveError as error:
            result = Result(255, "", f"{error.message}\n")
            if check:
                raise CommandError(result.stderr, exit_status=255) from error
            return result
        return Result(0, "", "")

    def write(self, path: str, content: bytes, *, mode: int = 0o600) -> None:
        raise AssertionError("a container's plan writes no files")

    def read(self, path: str, *, limit_bytes: int = 1_048_576) -> bytes | None:
        raise AssertionError("a container's plan reads no files")

    def put(self, local: Path, path: str, *, mode: int = 0o755) -> None:
        raise AssertionError("a container's plan sends no files")

    def close(self) -> None:
        pass
