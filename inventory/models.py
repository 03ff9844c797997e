"""What is wanted on a host, typed: the words that an inventory file may use, their limits and their defaults."""

from ipaddress import IPv4Interface, IPv6Interface
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    model_validator,
)

from inventory.names import (
    AbsolutePath,
    Address,
    EnvName,
    GitSha,
    HostName,
    SecretReference,
    ServiceName,
    StorageId,
    UserName,
)

Port = Annotated[int, Field(ge=1, le=65535)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class Model(BaseModel):
    """Strict: an unknown key is an error, and nothing changes after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, use_attribute_docstrings=True)


class Ssh(Model):
    """How to log in."""

    host: Address | None = None
    """Address to dial. A host's default is the address of its container's net."""
    port: Port = 22
    user: UserName = "root"
    key: str | None = None
    """Path of a private key on the controller; without it the ssh agent and the usual files are tried."""
    host_key: Annotated[str, StringConstraints(pattern=r"^(ssh-|ecdsa-|sk-)\S+ \S+$")] | None = None
    """The host's public key, "ssh-ed25519 AAAA...". A container's is learnt through its node when it is left out."""
    known_hosts: str = "~/.ssh/known_hosts"
    """Where keys are looked up when host_key is not given."""


class Token(Model):
    """A Proxmox API token: `user@realm!id` and a reference to its secret."""

    id: Annotated[str, StringConstraints(pattern=r"^[^\s@!]+@[A-Za-z0-9._-]+![A-Za-z0-9._-]+$")]
    secret: SecretReference


class Ticket(Model):
    """A Proxmox user and a reference to the password."""

    user: Annotated[str, StringConstraints(pattern=r"^[^\s@!]+@[A-Za-z0-9._-]+$")]
    password: SecretReference


class Api(Model):
    """How to reach a node's API. TLS is always verified: by the system's CAs, a CA file, or a fingerprint."""

    host: Address
    port: Port = 8006
    token: Token | None = None
    ticket: Ticket | None = None
    ca_file: str | None = None
    fingerprint: Annotated[str, StringConstraints(pattern=r"^(?:[0-9A-Fa-f]{2}:){31}[0-9A-Fa-f]{2}$")] | None = None
    """SHA-256 of the node's certificate, as `pvenode cert info` prints it."""
    timeout_s: PositiveFloat = 30

    @model_validator(mode="after")
    def _one_login_one_anchor(self) -> "Api":
        if (self.token is None) == (self.ticket is None):
            raise ValueError("give exactly one of token and ticket")
        if self.ca_file and self.fingerprint:
            raise ValueError("give ca_file or fingerprint, not both")
        return self


class Paths(Model):
    """Where things are on a machine; procfs and dev as node_exporter's flags of that name, for machines that show them elsewhere."""

    root: AbsolutePath = "/opt/specrail"
    logs: AbsolutePath = "/var/log/specrail"
    procfs: AbsolutePath = "/proc"
    dev: AbsolutePath = "/dev"


class Node(Model):
    """A Proxmox node: its API for what a token may do, its root shell for the rest (devices, bind mounts, pct exec)."""

    name: HostName | None = None
    """The node's own name in the cluster; default: its key in the inventory."""
    api: Api
    ssh: Ssh
    paths: Paths = Paths()


class Net(Model):
    """net0 of a container."""

    bridge: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,14}$")] = "vmbr0"
    ip: Literal["dhcp"] | IPv4Interface = "dhcp"
    """"dhcp" or address/prefix."""
    gateway: Address | None = None
    ip6: Literal["auto", "dhcp", "none"] | IPv6Interface = "none"
    tag: Annotated[int, Field(ge=1, le=4094)] | None = None
    mtu: Annotated[int, Field(ge=576, le=65520)] | None = None
    firewall: bool = False


class Mount(Model):
    """A folder of the node inside the container (a bind mount: set through the node's root shell)."""

    source: AbsolutePath
    target: AbsolutePath
    read_only: bool = True


class Gpus(Model):
    """Which of the node's NVIDIA GPUs the container gets; () means none."""

    indices: tuple[Annotated[int, Field(ge=0, le=63)], ...] = ()
    mode: Annotated[str, StringConstraints(pattern=r"^0[0-7]{3}$")] = "0666"
    """Of the device nodes inside the container (PVE's default 0660 shuts out every user but root)."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Device nodes that CUDA needs, below /dev; nvidia-uvm missing is the commonest partial failure."""
        if not self.indices:
            return ()
        return (*(f"nvidia{index}" for index in self.indices), "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")


def _feature(value: str) -> str:
    if value not in {"nesting", "keyctl", "fuse", "mknod"}:
        raise ValueError(f"unknown feature {value!r}: nesting, keyctl, fuse and mknod are known")
    return value


class Container(Model):
    """An LXC container on a Proxmox node."""

    ctid: Annotated[int, Field(ge=100, le=999_999_999)]
    hostname: HostName | None = None
    """Default: the host's name in the inventory."""
    template: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9._-]*:vztmpl/[A-Za-z0-9._+-]+$")]
    """A volume id, "local:vztmpl/ubuntu-24.04-standard_24.04-2_amd64.tar.zst"."""
    cores: Annotated[int, Field(ge=1, le=8192)] = 8
    memory_mib: Annotated[int, Field(ge=16)] = 32768
    """Weights are read through it: give it more than the largest shard."""
    swap_mib: Annotated[int, Field(ge=0)] = 0
    storage: StorageId = "local-lvm"
    rootfs_gib: PositiveInt = 64
    net: Net = Net()
    nameserver: Address | None = None
    features: tuple[Annotated[str, AfterValidator(_feature)], ...] = ("nesting",)
    mounts: tuple[Mount, ...] = ()
    gpus: Gpus = Gpus()
    unprivileged: bool = True
    onboot: bool = True
    pool: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+$")] | None = None
    tags: tuple[Annotated[str, StringConstraints(pattern=r"^[a-z0-9_][a-z0-9_+.-]*$")], ...] = ("specrail",)


class Engine(Model):
    """Which build of which engine. One source becomes one venv, named by what it was resolved to, built once."""

    kind: Literal["vllm"] = "vllm"
    source: Annotated[
        str,
        StringConstraints(
            pattern=r"^(release:[0-9]+(\.[0-9]+)*([a-z]+[0-9]+)?(\.post[0-9]+)?|pr:[1-9][0-9]*|commit:[0-9a-f]{40}"
            r"|branch:[A-Za-z0-9][A-Za-z0-9._/-]*|wheel:\S+|path:/\S+)$"
        ),
    ]
    """release:0.33.0, pr:40898, commit:<40 hex>, branch:NAME, wheel:URL-or-path, path:/a/checkout/on/the/host."""
    repository: Annotated[str, StringConstraints(pattern=r"^(https|ssh|git|file)://\S+$")] = (
        "https://github.com/vllm-project/vllm.git"
    )
    commit: GitSha | None = None
    """Pins a pr or branch: a head that has moved on is then not followed."""
    python: Annotated[str, StringConstraints(pattern=r"^3\.[0-9]+$")] | None = None
    """Python for the venv; default: the host's python3."""
    build: Literal["precompiled", "source"] = "precompiled"
    """precompiled takes the compiled libraries of the merge base's wheel; source compiles (hours)."""
    torch_backend: Annotated[str, StringConstraints(pattern=r"^(auto|cpu|cu[0-9]{3})$")] = "auto"
    index_url: str | None = None
    """Another package index than the default; "none" installs without any (offline hosts)."""
    build_timeout_s: PositiveFloat = 3600

    @model_validator(mode="after")
    def _commit_needs_a_moving_source(self) -> "Engine":
        if self.commit and not self.source.startswith(("pr:", "branch:")):
            raise ValueError("commit pins a pr: or branch: source; this source does not move")
        return self


class Target(Model):
    """The model that is served (the drafter's target)."""

    path: AbsolutePath
    """Folder on the host with config.json, tokenizer and weights."""
    served_name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")]
    revision: str | None = None
    """What the folder holds, for the record (a repository's commit)."""


class Drafter(Model):
    """A speculative-decoding drafter."""

    method: Literal["dflash", "eagle", "eagle3", "mtp", "draft_model", "ngram"] = "dflash"
    path: AbsolutePath | None = None
    """Folder on the host with the weights and, usually, a config.json. ngram and mtp need none."""
    tokens: Annotated[int, Field(ge=1, le=64)]
    """Speculative tokens per round (k)."""
    config: dict[str, JsonValue] = {}
    """Merged over the folder's config.json (nested keys too); the whole config where the folder has none."""
    repository: str | None = None
    """Where the weights come from ("z-lab/Qwen3.6-27B-DFlash"): known drafters are checked against the table."""
    revision: str | None = None
    options: dict[str, JsonValue] = {}
    """More keys of --speculative-config (attention_backend, draft_tensor_parallel_size ...)."""

    @model_validator(mode="after")
    def _weights_where_needed(self) -> "Drafter":
        if self.path is None and self.method not in {"ngram", "mtp"}:
            raise ValueError(f"method {self.method} needs path: the folder with the drafter's weights")
        return self


class Server(Model):
    """How the engine is served."""

    name: ServiceName = "vllm"
    listen: Literal["127.0.0.1", "0.0.0.0"] = "127.0.0.1"  # noqa: S104 - a choice the operator may make, not a default
    port: Port = 8000
    reach: Literal["tunnel", "direct"] = "tunnel"
    """How the controller reaches it: through ssh, or at the host's address (needs a listen address that answers there)."""
    tensor_parallel: PositiveInt = 1
    max_model_len: PositiveInt | None = None
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    args: tuple[str, ...] = ()
    """More arguments of the engine's serve command, one word each."""
    env: dict[EnvName, str] = {}
    secrets: dict[EnvName, SecretReference] = {}
    """Environment from secret references: HF_TOKEN, VLLM_API_KEY. Goes into server.env (0600), never into argv."""
    start_timeout_s: PositiveFloat = 1800
    stop_timeout_s: PositiveFloat = 60
    supervisor: Literal["auto", "systemd", "process"] = "auto"
    keep_releases: Annotated[int, Field(ge=2)] = 5


class Gate(Model):
    """When a release may stay in service."""

    prompts: Annotated[int, Field(ge=1)] = 50
    max_tokens: PositiveInt = 128
    """Per prompt."""
    min_acceptance_length: Annotated[float, Field(ge=1)] = 1.5
    """Floor, mean tokens per round with the bonus token; below it speculation does not pay on any known hardware."""
    max_drop: Fraction = 0.1
    """Largest loss of acceptance length against the baseline that still passes."""
    max_acceptance_rate: Fraction = 0.98
    """Above it the text is a repetition loop."""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    inconclusive: Literal["keep", "revert"] = "revert"
    timeout_s: PositiveFloat = 900


class Bench(Model):
    """How load is made for `invoke bench`."""

    prompts: Annotated[int, Field(ge=1)] = 50
    max_tokens: PositiveInt = 256
    concurrency: PositiveInt = 1
    warmup: Annotated[int, Field(ge=0)] = 2
    timeout_s: PositiveFloat = 1800


class Host(Model):
    """One container with one engine service: everything that specrail keeps true on it."""

    node: HostName
    container: Container
    ssh: Ssh = Ssh()
    paths: Paths = Paths()
    engine: Engine
    model: Target
    drafter: Drafter | None = None
    server: Server = Server()
    gate: Gate = Gate()
    bench: Bench = Bench()

    @model_validator(mode="after")
    def _direct_needs_an_open_ear(self) -> "Host":
        address = self.ssh.host or ""
        if self.server.reach == "direct" and self.server.listen == "127.0.0.1" and not address.startswith("127."):
            raise ValueError(
                "server.reach: direct needs server.listen: 0.0.0.0 (127.0.0.1 answers only on the host itself)"
            )
        return self
