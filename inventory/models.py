"""What is wanted on a host, typed: the words that an inventory file may use, their limits and their defaults."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, JsonValue, PositiveFloat, PositiveInt, StringConstraints, model_validator

from inventory.container_models import Container, Gpus, Mount, Net
from inventory.engine_model import Engine
from inventory.names import AbsolutePath, EnvName, EnvValue, HostName, SecretReference, ServiceName, Word, says
from inventory.node_models import Api, Node, Paths, Ssh, Ticket, Token
from inventory.strict import Model, Port, refuse

__all__ = [
    "Api",
    "Bench",
    "Container",
    "Drafter",
    "Engine",
    "Gate",
    "Gpus",
    "Host",
    "Model",
    "Mount",
    "Net",
    "Node",
    "Paths",
    "Server",
    "Ssh",
    "Target",
    "Ticket",
    "Token",
]

Fraction = Annotated[float, Field(ge=0, le=1)]

_OWN_FLAGS = {
    "--host": "server.listen",
    "--port": "server.port",
    "--tensor-parallel-size": "server.tensor_parallel",
    "-tp": "server.tensor_parallel",
    "--max-model-len": "server.max_model_len",
    "--gpu-memory-utilization": "server.gpu_memory_utilization",
    "--model": "model.path",
    "--served-model-name": "model.served_name",
    "--speculative-config": "drafter",
    "-sc": "drafter",
}
"""Flags of the engine that specrail writes itself, and the keys that they come from."""


class Target(Model):
    """The model that is served (the drafter's target)."""

    path: AbsolutePath
    """Folder on the host with config.json, tokenizer and weights."""
    served_name: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$"),
        says("a model's name (letters, digits and . _ / -)"),
    ]
    """The name in /v1/models, which clients ask for."""
    revision: str | None = None
    """What the folder holds, for the record (a repository's commit)."""


class Drafter(Model):
    """A speculative-decoding drafter."""

    method: Literal["dflash", "dspark", "eagle", "eagle3", "mlp_speculator", "mtp", "draft_model", "ngram"] = "dflash"
    """How tokens are drafted."""
    path: AbsolutePath | None = None
    """Folder on the host with the weights and, usually, a config.json. ngram and mtp need none."""
    tokens: Annotated[int, Field(ge=1, le=64)]
    """Speculative tokens per round (k)."""
    config: dict[str, JsonValue] = Field(default_factory=dict)
    """Merged over the folder's config.json (nested keys too); the whole config where the folder has none."""
    repository: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$"),
            says("a repository, OWNER/NAME"),
        ]
        | None
    ) = None
    """Where the weights come from ("z-lab/Qwen3.6-27B-DFlash"): known drafters are checked against the table."""
    revision: str | None = None
    """The repository's commit that the folder holds."""
    options: dict[str, JsonValue] = Field(default_factory=dict)
    """More keys of --speculative-config (attention_backend, draft_tensor_parallel_size ...). null leaves one out."""

    @model_validator(mode="after")
    def _weights_where_needed(self) -> "Drafter":
        if self.path is None and self.method not in {"ngram", "mtp"}:
            raise ValueError(f"method {self.method} needs path: the folder with the drafter's weights")
        return self


class Server(Model):
    """How the engine is served."""

    name: ServiceName = "vllm"
    """Names the systemd unit and the service's folders on the host."""
    listen: Literal["127.0.0.1", "0.0.0.0"] = "127.0.0.1"  # noqa: S104 - a choice the operator may make, not a default
    """Where the server listens; 0.0.0.0 is every interface of the container, without a login unless you set a key."""
    port: Port = 8000
    """Where the server listens."""
    reach: Literal["tunnel", "direct"] = "tunnel"
    """The controller's way: through ssh, or to the host's address (needs a listen address that answers there)."""
    tensor_parallel: PositiveInt = 1
    """GPUs that share one copy of the model."""
    max_model_len: PositiveInt | None = None
    """Context length in tokens; default: the model's own."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of each GPU's memory that the engine takes; default: the engine's own."""
    args: tuple[Word, ...] = ()
    """More arguments of the engine's serve command, one word each."""
    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    """The engine's environment; {venv} stands for its venv's folder. Secrets do not belong here."""
    secrets: dict[EnvName, SecretReference] = Field(default_factory=dict)
    """Environment from secret references: HF_TOKEN, VLLM_API_KEY. Goes into server.env (0600), never into argv."""
    start_timeout_s: PositiveFloat = 1800
    """Seconds from the start to the first answer: loading, compiling, capturing graphs."""
    stop_timeout_s: PositiveFloat = 60
    """Seconds between the polite stop and the hard one."""
    supervisor: Literal["auto", "systemd", "process"] = "auto"
    """What keeps the server running; auto takes systemd where it is PID 1."""
    keep_releases: Annotated[int, Field(ge=2)] = 5
    """How many releases stay on the host. The promoted one always stays."""

    @model_validator(mode="after")
    def _each_thing_said_once(self) -> "Server":
        refuse(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[str]:
        for flag in (word.partition("=")[0] for word in self.args):
            if key := _OWN_FLAGS.get(flag):
                yield f"{flag} does not belong in args; it is written from {key}"
        if both := sorted(set(self.env) & set(self.secrets)):
            yield f"{', '.join(both)} is in env and in secrets; give it once"


class Gate(Model):
    """When a release may stay in service."""

    prompts: Annotated[int, Field(ge=1)] = 50
    """How many of the fixed prompts are run."""
    max_tokens: PositiveInt = 128
    """Per prompt."""
    min_acceptance_length: Annotated[float, Field(ge=1)] = 1.5
    """Floor, mean tokens per round with the bonus token; below it speculation does not pay on any known hardware."""
    max_drop: Fraction = 0.1
    """Largest loss of acceptance length against the baseline that still passes."""
    max_acceptance_rate: Fraction = 0.98
    """Above it the text is a repetition loop."""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """Of the interval that must lie on one side of the limit before there is a verdict."""
    inconclusive: Literal["keep", "revert"] = "revert"
    """What happens when the data allow no verdict."""
    timeout_s: PositiveFloat = 900
    """Seconds for the whole gate."""


class Slo(Model):
    """Upper limits that a request must keep to count as good; a key that is left out limits nothing."""

    ttft_ms: PositiveFloat | None = None
    """To the first token, milliseconds."""
    tpot_ms: PositiveFloat | None = None
    """For each token after the first, milliseconds."""
    e2e_s: PositiveFloat | None = None
    """To the last token, seconds."""

    @model_validator(mode="after")
    def _limits_something(self) -> "Slo":
        if self.ttft_ms is None and self.tpot_ms is None and self.e2e_s is None:
            raise ValueError("one of ttft_ms, tpot_ms and e2e_s has to be there")
        return self


class Bench(Model):
    """How load is made for `invoke bench`."""

    prompts: Annotated[int, Field(ge=1)] = 50
    """How many of the fixed prompts are run."""
    max_tokens: PositiveInt = 256
    """Per prompt."""
    concurrency: PositiveInt = 1
    """Requests in flight at once."""
    warmup: Annotated[int, Field(ge=0)] = 2
    """Requests before the measurement that do not count: so many, and as many as run at once; 0 is none."""
    timeout_s: PositiveFloat = 1800
    """Seconds for the whole run."""
    slo: Slo | None = None
    """What a request must keep; with it a bench reports goodput."""


class Host(Model):
    """One container with one engine service: everything that specrail keeps true on it."""

    node: HostName
    """Key of the Proxmox node, below `nodes`."""
    container: Container
    """The container."""
    ssh: Ssh = Ssh()
    """How to log in to the container."""
    paths: Paths = Paths()
    """Where things are in the container."""
    engine: Engine
    """Which build of the engine."""
    model: Target
    """The model that is served."""
    drafter: Drafter | None = None
    """The drafter; without one there is no speculation."""
    server: Server = Server()
    """The engine's service: address, arguments, environment, supervisor."""
    gate: Gate = Gate()
    """What a release must show to stay in service."""
    bench: Bench = Bench()
    """The load of `invoke bench`."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "Host":
        refuse(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[str]:
        address = self.ssh.host or ""
        if self.server.reach == "direct" and self.server.listen == "127.0.0.1" and not address.startswith("127."):
            yield "server.reach: direct needs server.listen: 0.0.0.0 (127.0.0.1 answers only on the host itself)"
        have, want = len(self.container.gpus.indices), self.server.tensor_parallel
        if have and want > have:
            yield f"server.tensor_parallel: {want} needs {want} GPUs; container.gpus.indices gives {have}"
