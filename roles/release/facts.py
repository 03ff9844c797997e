"""What a host says about the releases on it, its lock and its server."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass

from inventory.shell import command
from roles.release.layout import Layout
from roles.release.manifest import Manifest


@dataclass(frozen=True)
class Release:
    """A release folder. gate_text is the gate.json as it lies there; None where no gate has run."""

    id: str
    manifest: Manifest | None
    gate_text: str | None

    @property
    def outcome(self) -> str | None:
        """What its gate said last: pass, fail or inconclusive."""
        try:
            outcome = json.loads(self.gate_text or "")["verdict"]["outcome"]
        except (ValueError, KeyError, TypeError):
            return None
        return outcome if isinstance(outcome, str) else None


@dataclass(frozen=True)
class Pending:
    """An activation that nobody has confirmed yet; deadline is epoch seconds on the host's clock."""

    nonce: str
    release: str
    previous: str | None
    deadline: int

    def in_words(self, now: int) -> str:
        """What the host will do by itself, or should have done."""
        left, back_to = self.deadline - now, self.previous or "nothing"
        if left > 0:
            return f"goes back to {back_to} in {left} s unless confirmed"
        return (
            f"should have gone back to {back_to} {-left} s ago; the next start of the server does, and so does a deploy"
        )


@dataclass(frozen=True)
class ReleaseFacts:
    """One reading of a host. now is the host's clock, epoch seconds; free_bytes is what is left below the root."""

    now: int
    boot_id: str
    systemd: bool
    current: str | None
    promoted: str | None
    pending: Pending | None
    releases: tuple[Release, ...]
    control_sha: str | None
    unit_sha: str | None
    env_sha: str | None
    server_running: bool
    port_taken: bool
    log_bytes: int
    free_bytes: int | None
    lock: Mapping[str, object] | None

    def release(self, release: str | None) -> Release | None:
        """The release of that id, if its folder is there."""
        return next((candidate for candidate in self.releases if candidate.id == release), None)


def questions(layout: Layout, port: int) -> dict[str, str]:
    """What to ask a host; the answers go to `parse`. port in the answer is whether anything listens on it."""
    base = command(layout.base)
    return {
        "release.state": f"""base={base}
say() {{ printf '%s=%s\\n' "$1" "$2"; }}
sha() {{ [ ! -f "$1" ] || sha256sum <"$1" | cut -c1-64; }}
say now "$(date +%s)"
say boot "$(cat /proc/sys/kernel/random/boot_id)"
[ -d /run/systemd/system ] && [ "$(cat /proc/1/comm)" = systemd ] && say systemd 1 || say systemd 0
say current "$(readlink "$base/current" 2>/dev/null || :)"
say promoted "$(readlink "$base/promoted" 2>/dev/null || :)"
say control "$(sha "$base/control.sh")"
say unit "$(sha {command(layout.unit)})"
say env "$(sha "$base/current/server.env")"
running=0
if [ -d /run/systemd/system ] && grep -qs "^ExecStart=$base/" {command(layout.unit)} &&
  systemctl is-active --quiet {command(f"specrail-{layout.service}.service")}; then running=1; fi
if [ -f "$base/run/supervisor.lock" ] && ! flock -n "$base/run/supervisor.lock" true; then running=1; fi
say running "$running"
cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk '$4 == "0A" {{ n = split($2, a, ":"); print a[n] }}' |
  grep -qix {port:04X} && say port 1 || say port 0
say log "$(wc -c <{command(layout.log)} 2>/dev/null || echo 0)"
near={command(layout.root)}
while [ ! -d "$near" ]; do near=${{near%/*}}; near=${{near:-/}}; done
say free_kib "$(df -Pk "$near" | awk 'NR == 2 {{ print $4 }}')"
""",
        "release.pending": f"cat {base}/pending 2>/dev/null || :",
        "release.lock": f"cat {base}/lock/details.json 2>/dev/null || :",
        "release.list": f"""cd {base}/releases 2>/dev/null || exit 0
for release in *; do
  [ -d "$release" ] || continue
  printf '%s %s %s\\n' "$release" "$(base64 -w0 <"$release/manifest.json" 2>/dev/null || :)" \\
    "$(base64 -w0 <"$release/gate.json" 2>/dev/null || :)"
done""",
    }


def parse(answers: Mapping[str, str]) -> ReleaseFacts:
    """Read the answers to `questions`. Raises ValueError when the host's shell did not answer in that form."""
    state = dict(line.split("=", 1) for line in answers["release.state"].splitlines() if "=" in line)
    try:
        now = int(state["now"])
        log_bytes = int(state["log"] or 0)
    except (KeyError, ValueError) as error:
        raise ValueError(f"the host answered {answers['release.state'][:200]!r}") from error
    free = state.get("free_kib", "")
    return ReleaseFacts(
        now=now,
        boot_id=state.get("boot", ""),
        systemd=state.get("systemd") == "1",
        current=_link(state.get("current")),
        promoted=_link(state.get("promoted")),
        pending=_pending(answers.get("release.pending", "")),
        releases=_releases(answers.get("release.list", "")),
        control_sha=state.get("control") or None,
        unit_sha=state.get("unit") or None,
        env_sha=state.get("env") or None,
        server_running=state.get("running") == "1",
        port_taken=state.get("port") == "1",
        log_bytes=log_bytes,
        free_bytes=int(free) * 1024 if free.isdigit() else None,
        lock=_lock(answers.get("release.lock", "")),
    )


def _link(target: str | None) -> str | None:
    return target.rsplit("/", 1)[-1] or None if target else None


def _pending(text: str) -> Pending | None:
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    try:
        return Pending(
            nonce=fields["nonce"],
            release=fields["release"],
            previous=fields["previous"] or None,
            deadline=int(fields["deadline"]),
        )
    except (KeyError, ValueError):
        return None


def _releases(text: str) -> tuple[Release, ...]:
    found = []
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        manifest, _, gate = rest.partition(" ")
        manifest_text, gate_text = _decoded(manifest), _decoded(gate)
        found.append(
            Release(
                id=name,
                manifest=Manifest.from_json(manifest_text) if manifest_text else None,
                gate_text=gate_text,
            )
        )
    return tuple(sorted(found, key=lambda release: release.id))


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode() or None
    except ValueError:  # not base64, not ASCII, not UTF-8
        return None


def _lock(text: str) -> Mapping[str, object] | None:
    if not text.strip():
        return None
    try:
        details = json.loads(text)
    except ValueError:
        return {}
    return details if isinstance(details, dict) else {}
