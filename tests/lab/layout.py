"""Where things are in a lab's folder."""

import shutil
from dataclasses import dataclass
from pathlib import Path

NODE = "pve1"
MODELS = "/tank/models"
"""Where the node keeps models (a path on the node, below its sandbox)."""


@dataclass(frozen=True)
class Layout:
    """Paths below one lab's folder, which is absolute. Nothing of a lab is anywhere else."""

    folder: Path

    @property
    def mark(self) -> Path:
        """Says that the folder is a lab's, and which ports it had."""
        return self.folder / "lab.json"

    @property
    def lock(self) -> Path:
        """Locked (flock) for as long as the daemon lives; holds its pid."""
        return self.folder / "daemon.lock"

    @property
    def control(self) -> Path:
        """The daemon's unix socket."""
        return self.folder / "control"

    @property
    def inventory(self) -> Path:
        """The inventory that points at this lab."""
        return self.folder / "hosts.yml"

    @property
    def gpus(self) -> Path:
        """What the stand-in nvidia-smi shows."""
        return self.folder / "gpu.json"

    @property
    def keys(self) -> Path:
        """Key pairs and certificates."""
        return self.folder / "keys"

    @property
    def login_key(self) -> Path:
        """The private key that opens the node and, once they were created with it, the containers."""
        return self.keys / "id_ed25519"

    @property
    def ca(self) -> Path:
        """The cluster's CA, which signed the node's certificate."""
        return self.keys / "pve-root-ca.pem"

    @property
    def secrets(self) -> Path:
        """One 0600 file a secret."""
        return self.folder / "secrets"

    @property
    def logs(self) -> Path:
        """The daemon's log and the record of what came in; outlives `down`."""
        return self.folder / "log"

    @property
    def git(self) -> Path:
        """The engine's repository."""
        return self.folder / "git"

    @property
    def node(self) -> Path:
        """The node's sandbox."""
        return self.folder / NODE

    def container(self, ctid: int) -> Path:
        """A container's sandbox."""
        return self.folder / f"ct{ctid}"

    def clear(self) -> None:
        """Remove what a lab left in its folder, except its logs, its mark and the lock."""
        for path in self.folder.iterdir():
            if path in (self.logs, self.mark, self.lock):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
