"""A container on a node, typed: its size, net, mounts and GPUs."""

from ipaddress import IPv4Interface, IPv6Interface
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PositiveInt, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from inventory.names import NOT_AS_WANTED, AbsolutePath, Address, HostName, StorageId, says
from inventory.strict import Model


def _ipv4_with_prefix(value: object) -> object:
    return _interface(value, ("dhcp",), IPv4Interface, "10.1.2.3/24")


def _ipv6_with_prefix(value: object) -> object:
    return _interface(value, ("auto", "dhcp", "none"), IPv6Interface, "2001:db8::3/64")


def _interface(
    value: object, words: tuple[str, ...], kind: type[IPv4Interface] | type[IPv6Interface], example: str
) -> object:
    """Refuse an address without a prefix: `ipaddress` would read it as a network of one."""
    if isinstance(value, kind) or value in words:
        return value
    try:
        address, _, prefix = str(value).partition("/")
        if prefix.isdecimal() and "%" not in address:
            kind(value if isinstance(value, str) else "")
            return value
    except ValueError:
        pass
    wanted = f"{', '.join(words)} or an address with its prefix ({example})"
    raise PydanticCustomError(NOT_AS_WANTED, "{wanted}", {"wanted": wanted})


class Net(Model):
    """net0 of a container."""

    bridge: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,14}$"),
        says("a bridge's name (a letter, then letters, digits and _ . -; at most 15)"),
    ] = "vmbr0"
    """The node's bridge (or an SDN vnet)."""
    ip: Annotated[Literal["dhcp"] | IPv4Interface, BeforeValidator(_ipv4_with_prefix, json_schema_input_type=str)] = (
        "dhcp"
    )
    """"dhcp" or an address with its prefix, 10.1.230.172/24."""
    gateway: Address | None = None
    """The default route, for a static ip."""
    ip6: Annotated[
        Literal["auto", "dhcp", "none"] | IPv6Interface, BeforeValidator(_ipv6_with_prefix, json_schema_input_type=str)
    ] = "none"
    """"auto" (SLAAC), "dhcp", "none" or an address with its prefix."""
    tag: Annotated[int, Field(ge=1, le=4094)] | None = None
    """VLAN."""
    mtu: Annotated[int, Field(ge=576, le=65520)] | None = None
    """Default: the bridge's."""
    firewall: bool = False
    """Whether the node's firewall filters this interface."""

    @model_validator(mode="after")
    def _gateway_of_a_static_address(self) -> "Net":
        if self.gateway and self.ip == "dhcp":
            raise ValueError("gateway belongs to a static ip; with ip: dhcp the DHCP server gives it")
        return self


class Mount(Model):
    """A folder of the node inside the container (a bind mount: set through the node's root shell)."""

    source: AbsolutePath
    """Folder on the node."""
    target: AbsolutePath
    """Where the container sees it."""
    read_only: bool = True
    """Whether the container may only read it."""


class Gpus(Model):
    """Which of the node's NVIDIA GPUs the container gets; () means none."""

    indices: tuple[Annotated[int, Field(ge=0, le=63)], ...] = ()
    """Numbers N of the node's /dev/nvidiaN."""
    mode: Annotated[str, StringConstraints(pattern=r"^0[0-7]{3}$"), says('four octal digits, "0666"')] = "0666"
    """Of the device nodes inside the container (Proxmox's default 0660 shuts out every user but root)."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Device nodes that CUDA needs, below /dev; nvidia-uvm missing is the commonest partial failure."""
        if not self.indices:
            return ()
        return (*(f"nvidia{index}" for index in self.indices), "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")

    @model_validator(mode="after")
    def _each_once(self) -> "Gpus":
        if len(set(self.indices)) != len(self.indices):
            raise ValueError("a GPU is listed twice in indices")
        return self


class Container(Model):
    """An LXC container on a Proxmox node."""

    ctid: Annotated[int, Field(ge=100, le=999_999_999)]
    """The container's number in the cluster (CTID)."""
    hostname: HostName | None = None
    """Default: the host's name in the inventory."""
    template: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9._-]*:vztmpl/[A-Za-z0-9._+-]+$"),
        says("a template's volume id, STORAGE:vztmpl/FILE (`pveam list local` prints them)"),
    ]
    """A volume id, "local:vztmpl/ubuntu-24.04-standard_24.04-2_amd64.tar.zst"."""
    cores: Annotated[int, Field(ge=1, le=8192)] = 8
    """CPU cores."""
    memory_mib: Annotated[int, Field(ge=16)] = 32768
    """Weights are read through it: give it more than the largest shard."""
    swap_mib: Annotated[int, Field(ge=0)] = 0
    """Swap; 0 is none."""
    storage: StorageId = "local-lvm"
    """The storage of the root file system."""
    rootfs_gib: PositiveInt = 64
    """Size of the root file system; it can grow, never shrink."""
    net: Net = Net()
    """The container's one network interface."""
    nameserver: Address | None = None
    """Default: the node's."""
    features: tuple[Literal["nesting", "keyctl", "fuse", "mknod"], ...] = ("nesting",)
    """What the container may do besides. An API token may set no other than nesting."""
    mounts: tuple[Mount, ...] = ()
    """Folders of the node inside the container."""
    gpus: Gpus = Gpus()
    """The node's GPUs that the container gets."""
    unprivileged: bool = True
    """Whether root inside is nobody outside. Fixed at creation."""
    onboot: bool = True
    """Whether the node starts the container when it boots."""
    pool: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[A-Za-z0-9._-]+$"),
            says("a pool's name (letters, digits and . _ -)"),
        ]
        | None
    ) = None
    """Resource pool, on which a token's rights may hang."""
    tags: tuple[
        Annotated[
            str,
            StringConstraints(pattern=r"^[a-z0-9_][a-z0-9_+.-]*$"),
            says("a tag of lower-case letters, digits and _ + . -"),
        ],
        ...,
    ] = ("specrail",)
    """Labels in Proxmox's interface. Their order means nothing."""

    @model_validator(mode="after")
    def _one_mount_a_target(self) -> "Container":
        targets = [mount.target for mount in self.mounts]
        if twice := next((target for target in targets if targets.count(target) > 1), None):
            raise ValueError(f"two mounts have the target {twice}")
        return self
