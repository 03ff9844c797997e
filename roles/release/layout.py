"""Where a service's files are on its host."""

from dataclasses import dataclass
from typing import Literal

from inventory.models import Host

Supervisor = Literal["systemd", "process"]


@dataclass(frozen=True)
class Layout:
    """Paths of one service. base is <root>/<service>, log is the engine's log."""

    service: str
    root: str
    logs: str

    @classmethod
    def of(cls, host: Host) -> "Layout":
        """The layout that a host's inventory asks for."""
        return cls(service=host.server.name, root=host.paths.root, logs=host.paths.logs)

    @property
    def base(self) -> str:
        """Everything of the service but its log."""
        return f"{self.root}/{self.service}"

    @property
    def log(self) -> str:
        """What the engine prints."""
        return f"{self.logs}/{self.service}/serve.log"

    @property
    def control(self) -> str:
        """The script that starts, stops, activates and reverts."""
        return f"{self.base}/control.sh"

    @property
    def unit(self) -> str:
        """The systemd unit's file."""
        return f"/etc/systemd/system/specrail-{self.service}.service"

    @property
    def venvs(self) -> str:
        """One folder an engine build."""
        return f"{self.base}/venvs"

    def release(self, release: str) -> str:
        """Folder of one release."""
        return f"{self.base}/releases/{release}"
