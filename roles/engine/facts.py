"""What a host says about engine builds on it and about what a build needs."""

import base64
import binascii
import re
from dataclasses import dataclass, field

from inventory.models import Engine
from inventory.shell import command
from roles.engine import provenance
from roles.engine.provenance import Provenance
from roles.engine.source import parse as parse_source

TOOLS = ("git", "cc", "flock", "apt-get")
"""Programs that a build may use, looked for on the host's PATH."""


@dataclass(frozen=True)
class EngineFacts:
    """One reading of a host. None: the host did not say.

    venvs:        whole builds, by folder name
    incomplete:   folders of builds that did not end
    python:       version of the python that the inventory wants (default python3), if the host has it
    tools:        those of TOOLS that are there
    uv:           version -> path of each uv on the host: pushed ones, and the one on its PATH
    free_bytes:   on the file system of the service's folder
    libc:         "glibc 2.36" or "musl"
    systemd:      whether systemd runs the machine
    path_commit:  HEAD of the checkout that a path: source names, if it is one
    path_exists:  whether that folder, or a wheel: source's local file, is there
    """

    venvs: dict[str, Provenance] = field(default_factory=dict)
    incomplete: tuple[str, ...] = ()
    python: str | None = None
    tools: frozenset[str] = frozenset()
    uv: dict[str, str] = field(default_factory=dict)
    free_bytes: int | None = None
    arch: str | None = None
    libc: str | None = None
    systemd: bool = False
    memory_bytes: int | None = None
    path_commit: str | None = None
    path_exists: bool = False
    unread: tuple[str, ...] = ()


def question(base: str, engine: Engine, procfs: str = "/proc") -> str:
    """What to ask. base is the service's folder (<root>/<service>); it need not be there yet."""
    python = f"python{engine.python}" if engine.python else "python3"
    source = parse_source(engine.source)
    local = source.value if source.value.startswith("/") else ""
    return f"""base={command(base)}
for venv in "$base"/venvs/*/; do
  [ -d "$venv" ] || continue
  name=${{venv%/}}
  printf 'venv %s %s\\n' "${{name##*/}}" "$(cat "${{venv}}{provenance.FILE}" 2>/dev/null | base64 | tr -d '\\n')"
done
for uv in "$base"/bin/uv-*; do
  [ -x "$uv" ] && printf 'uv %s %s\\n' "${{uv##*/uv-}}" "$uv"
done
if uv=$(command -v uv); then printf 'uv %s %s\\n' "$(uv --version 2>/dev/null | cut -d ' ' -f 2)" "$uv"; fi
for tool in {command(*TOOLS)}; do
  command -v "$tool" >/dev/null 2>&1 && printf 'tool %s\\n' "$tool"
done
printf 'python %s\\n' "$({python} -c 'import platform; print(platform.python_version())' 2>/dev/null)"
near=$base
while [ -n "$near" ] && [ ! -d "$near" ]; do near=${{near%/*}}; done
printf 'free_kib %s\\n' "$(df -Pk "${{near:-/}}" 2>/dev/null | awk 'NR == 2 {{ print $4 }}')"
printf 'arch %s\\n' "$(uname -m)"
printf 'libc %s\\n' "$(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>&1 | grep -o -m 1 musl)"
printf 'memory_kib %s\\n' "$(awk '$1 == "MemTotal:" {{ print $2 }}' {command(procfs)}/meminfo 2>/dev/null)"
[ -d /run/systemd/system ] && printf 'systemd yes\\n'
local={command(local)}
if [ -n "$local" ] && [ -e "$local" ]; then
  printf 'path yes\\npath_commit %s\\n' "$(git -C "$local" rev-parse HEAD 2>/dev/null)"
fi
"""


def parse(answer: str) -> EngineFacts:
    """Read the answer to `question`. Any text is read; what is not understood is in `unread`."""
    venvs: dict[str, Provenance] = {}
    incomplete: list[str] = []
    tools: list[str] = []
    uv: dict[str, str] = {}
    said: dict[str, str] = {}
    unread: list[str] = []
    for line in answer.splitlines():
        word, _, rest = line.partition(" ")
        first, _, second = rest.partition(" ")
        if word == "venv" and first:
            if (built := _provenance(second)) is None:
                incomplete.append(first)
            else:
                venvs[first] = built
        elif word == "uv" and re.fullmatch(r"\d+\.\d+\.\d+\S*", first) and second.startswith("/"):
            uv.setdefault(first, second)
        elif word == "tool" and rest in TOOLS:
            tools.append(rest)
        elif word in _SINGLE and word not in said:
            said[word] = rest.strip()
        elif line.strip():
            unread.append(line)
    commit = said.get("path_commit", "")
    return EngineFacts(
        venvs=venvs,
        incomplete=tuple(incomplete),
        python=said.get("python") or None,
        tools=frozenset(tools),
        uv=uv,
        free_bytes=_kib(said.get("free_kib")),
        arch=said.get("arch") or None,
        libc=said.get("libc") or None,
        systemd=said.get("systemd") == "yes",
        memory_bytes=_kib(said.get("memory_kib")),
        path_commit=commit if re.fullmatch(r"[0-9a-f]{40}", commit) else None,
        path_exists=said.get("path") == "yes",
        unread=tuple(unread),
    )


_SINGLE = ("python", "free_kib", "arch", "libc", "memory_kib", "systemd", "path", "path_commit")


def _provenance(encoded: str) -> Provenance | None:
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return provenance.read(text)


def _kib(text: str | None) -> int | None:
    return int(text) * 1024 if text and re.fullmatch(r"[0-9]{1,15}", text) else None
