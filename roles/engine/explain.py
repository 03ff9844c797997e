"""Why a build failed: the end of its log read into one error that says what helps."""

import re
from dataclasses import dataclass

from inventory.errors import EngineError
from roles.engine.known import NEWEST_RELEASE

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LOGIN = re.compile(r"://[^/@\s]+@")
_SHOWN_LINES = 6


@dataclass(frozen=True)
class _Cause:
    """One known way to fail. Groups of the pattern that are named fill the texts."""

    pattern: str
    what: str
    why: tuple[str, ...] = ()
    tries: tuple[str, ...] = ()


_RELEASE = f"engine.source: release:{NEWEST_RELEASE}"

# The order is the order of trust: a full disk or a cut line makes many other things fail after it, and the script's own
# word ("specrail: fail ...") is surer than what a build tool prints on its way down.
_CAUSES = (
    _Cause(
        r"No space left on device|os error 28\b|Disk quota exceeded|ENOSPC",
        "the host's disk is full",
        ("The unfinished venv is removed by the next build.",),
        ("on the host: du -xsh /opt/specrail/*/venvs/* /opt/specrail/*/cache", "container.rootfs_gib: a larger number"),
    ),
    _Cause(
        r"specrail: fail needs-compiling (?P<detail>.*)",
        "this source changes compiled code, and engine.build is precompiled",
        (
            "Changed against its merge base: {detail}",
            "The published libraries of the base would not fit its Python code.",
        ),
        ("engine.build: source   (compiles on the host, hours)", f"{_RELEASE}   (when a release contains the change)"),
    ),
    _Cause(
        r"specrail: fail no-merge-base (?P<detail>.*)",
        "no common commit with the repository's main branch: no published wheel can belong to this source",
        ("Without one, the engine's build would take the newest nightly's libraries under this Python code.",),
        ("engine.build: source", _RELEASE),
    ),
    _Cause(
        r"specrail: fail locked",
        "another build on this host does not end",
        ("One build runs at a time for each service.",),
        ("on the host: ps -ef | grep 'uv pip install'", "deploy again when it has ended"),
    ),
    _Cause(
        r"could not read Username|Authentication failed for|Permission denied \(publickey|terminal prompts disabled",
        "the host may not read the engine's repository",
        ("It is asked for without a password: a private repository needs a key on the host itself.",),
        ("check engine.repository", "repository: ssh://git@HOST/PATH   with a deploy key on the host"),
    ),
    _Cause(
        r"(tls handshake eof|error sending request for url|Could not resolve host|Temporary failure in name resolution"
        r"|Name or service not known|Network is unreachable|Connection (refused|reset|timed out)|Failed to connect to"
        r"|dns error|client error \(Connect\)|operation timed out|early EOF|RPC failed)",
        "the host's network broke while it downloaded{from_host}",
        ("The source itself was found: nothing says that it is wrong.",),
        (
            "deploy again: what was downloaded is kept",
            "on the host: curl -sSI {url}",
            "a proxy or mirror: engine.index_url, or HTTPS_PROXY in the host's environment",
        ),
    ),
    _Cause(
        r"specrail: fail commit-gone (?P<detail>\S+)",
        "the repository no longer has commit {detail}",
        ("A pull request's commits vanish some time after a forced push.",),
        ("invoke deploy --update   (takes the head as it is now)", "engine.commit: a commit that the repository has"),
    ),
    _Cause(
        r"wheels\.vllm\.ai/(?P<detail>[0-9a-f]{7,40})\S*.*(404|Not Found)"
        r"|(404|Not Found).*wheels\.vllm\.ai/(?P<other>[0-9a-f]{7,40})",
        "the precompiled wheel of its merge base is gone (404 for {detail})",
        ("The index keeps wheels of commits on main for a while only, and has none within the hour after a merge.",),
        (_RELEASE, "engine.build: source   (compiles on the host, hours)"),
    ),
    _Cause(
        r"undefined symbol: (?P<detail>\S+)",
        "the compiled libraries do not belong to this Python code or this torch (undefined symbol)",
        ("Missing: {detail}",),
        (
            "engine.build: source",
            _RELEASE,
            "do not upgrade torch by hand: the venv must have the one that the wheel was built with",
        ),
    ),
    _Cause(
        r"'_OpNamespace' '(?P<lib>\w+)' object has no attribute '(?P<detail>\w+)'"
        r"|torch\.ops\.(?P<lib2>\w+) has no attribute '?(?P<detail2>\w+)",
        "the Python code is newer than the compiled libraries (no operator {detail})",
        ("The libraries are of another commit than the checkout, or the operator is not built for this platform.",),
        ("engine.build: source", "engine.commit: the commit whose base the wheel is of", _RELEASE),
    ),
    _Cause(
        r"No module named '(?P<detail>\w+\._C\w*)'",
        "the build has no compiled libraries ({detail})",
        ("The wheel that they are taken from was not found or not unpacked.",),
        (_RELEASE, "engine.build: source"),
    ),
    _Cause(
        r"version `(?P<detail>GLIBC\S+)' not found",
        "the host's C library is too old for the published libraries ({detail})",
        (),
        ("container.template: a newer Debian or Ubuntu",),
    ),
    _Cause(
        r"(?P<detail>lib(?!cu|nv|nccl)[\w+.-]+\.so[\w.]*): cannot open shared object file",
        "the host lacks a library of its distribution ({detail})",
        (),
        (
            "on the host: apt-get install -y libnuma1   (has libnuma.so.1, which builds for CPUs need)",
            "on the host: apt-get install -y libgl1 libglib2.0-0   (have libGL.so.1 and libgthread-2.0.so.0)",
        ),
    ),
    _Cause(
        r"ninja'? '--version'|CMake Error|CMAKE_MAKE_PROGRAM|Could NOT find (CUDA|Ninja)|CUDA_HOME",
        "compiling could not start: CMake does not find its tools",
        (
            "A stale CMake cache names the ninja of a build environment that is gone, or CUDA's compiler is missing.",
            "'not a git repository' above it only costs the version string.",
        ),
        (
            "engine.build: precompiled",
            "on the host: apt-get install -y ninja-build build-essential, and CUDA's nvcc",
            "build from a git checkout, not from a source archive, without its build/ folder and CMakeCache.txt",
        ),
    ),
    _Cause(
        r"\bKilled\b|signal: 9|fatal error: Killed signal|MemoryError|Cannot allocate memory",
        "the host ran out of memory",
        (),
        ("container.memory_mib: a larger number", "engine.build: precompiled   (compiles nothing)"),
    ),
    _Cause(
        r"No interpreter found|requires-python|requires Python|Python version .* does not satisfy",
        "the host's Python does not suit this engine",
        (),
        ("engine.python: '3.12'",),
    ),
    _Cause(
        r"not found in the provided package locations|network was disabled|needs to be downloaded from a registry",
        "the engine needs packages, and engine.index_url is none",
        (),
        ("engine.index_url: (leave it out)", "install them as wheels that need nothing else"),
    ),
    _Cause(
        r"^E: (?P<detail>.*)$",
        "apt-get failed: {detail}",
        (),
        ("on the host: apt-get update && apt-get install -y git build-essential",),
    ),
    _Cause(
        r"No solution found when resolving[^\n]*",
        "the engine's dependencies cannot all be had at once",
        (),
        ("engine.python: '3.12'", "engine.torch_backend: one that the index has (cpu, cu129, cu130)"),
    ),
    _Cause(
        r"No module named '(?P<detail>\w+)'|ImportError: (?P<other>.*)",
        "the build cannot be imported: {detail}",
        (),
        (_RELEASE,),
    ),
)


def explain(log_tail: str, exit_status: int | None, *, title: str = "the engine") -> EngineError:
    """The error to raise for a failed build.

    log_tail:    the end of what the script and its tools printed (a few hundred lines)
    exit_status: of the script; None when nobody saw it end
    title:       what was built ("pull request 40898")
    """
    text = _ANSI.sub("", log_tail)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    talk = tuple(line for line in lines if not line.startswith("specrail: "))[-_SHOWN_LINES:]
    for cause in _CAUSES:
        if found := re.search(cause.pattern, text, re.MULTILINE):
            words = _words(found, text)
            return EngineError(
                f"{title}: {cause.what.format(**words)}",
                where=("engine",),
                why=(*(line.format(**words) for line in cause.why), *_quoted(talk)),
                tries=tuple(line.format(**words) for line in cause.tries if words["url"] or "{url}" not in line),
            )
    phase = next((line.split()[-1] for line in reversed(lines) if line.startswith("specrail: phase ")), None)
    ended = "did not end" if exit_status is None else f"ended with status {exit_status}"
    return EngineError(
        f"{title}: the build {ended}{f' in phase {phase}' if phase else ''}",
        where=("engine",),
        why=_quoted(talk),
        tries=(_RELEASE,),
    )


def _words(found: re.Match[str], text: str) -> dict[str, str]:
    groups = found.groupdict()
    detail = next((groups[name] for name in ("detail", "other", "detail2") if groups.get(name)), "").strip()
    url = re.search(r"https?://[^\s`'\")]+", text[found.start() :]) or re.search(r"https?://[^\s`'\")]+", text)
    host = re.match(r"https?://(?:[^@/]*@)?([^/:]+)", url[0]) if url else None
    return {
        "detail": detail,
        "url": url[0] if url and "@" not in url[0] else "",
        "from_host": f" from {host[1]}" if host else "",
    }


def _quoted(talk: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"| {_LOGIN.sub('://***@', line)[:160]}" for line in talk)
