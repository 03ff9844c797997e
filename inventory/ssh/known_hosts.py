"""Which ssh host keys are right for a machine: pinned, learnt through its node, or in known_hosts files."""

import base64
import binascii
import fcntl
import hashlib
import hmac
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from inventory.errors import HostKeyError, UsageError
from inventory.shell import command


@dataclass(frozen=True)
class HostKey:
    """A public host key. kind is ssh's word for it ("ssh-ed25519"), blob its wire form, source where it was found."""

    kind: str
    blob: bytes
    source: str

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it: "SHA256:..."."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    @property
    def line(self) -> str:
        """As public key files hold it: "ssh-ed25519 AAAA..."."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()}"

    def __str__(self) -> str:
        return f"{self.kind} {self.fingerprint}"


def parse_key(line: str, source: str) -> HostKey:
    """Read "ssh-ed25519 AAAA... comment". Raises ValueError for anything else, also for a kind that the data denies."""
    words = line.split()
    if len(words) < 2:
        raise ValueError(f"not a public key: {line!r}")
    kind, text = words[:2]
    try:
        blob = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not a public key: {line!r}") from error
    size = int.from_bytes(blob[:4], "big")
    if blob[4 : 4 + size] != kind.encode(errors="replace"):  # RFC 4253 6.6: the blob starts with its kind
        raise ValueError(f"not a public key of the kind {kind}: {line!r}")
    return HostKey(kind, blob, source)


@dataclass(frozen=True)
class HostKeys:
    """Where a machine's right keys are looked up. The first place that knows the machine decides alone.

    A key is never trusted because it was met first.

    pinned:  its key as the inventory gives it ("ssh-ed25519 AAAA..."), or None
    learned: specrail's own file (known_hosts format, 0600) of keys that were read through the node; found by the
             machine's name in the inventory, because a container's address may change
    files:   known_hosts files in OpenSSH's format (hashed names, patterns and @revoked work; certificates do not)
    """

    pinned: str | None = None
    learned: Path | None = None
    files: Sequence[Path] = ()

    def expected(self, name: str, address: str, port: int) -> tuple[HostKey, ...]:
        """The keys that this machine may show; () when no place knows it.

        Raises UsageError for a pinned key that is none.
        """
        if self.pinned is not None:
            try:
                return (parse_key(self.pinned, "inventory"),)
            except ValueError as error:
                raise UsageError(
                    f"ssh.host_key is not a public key: {error}",
                    where=[name],
                    tries=[f"{command('ssh-keyscan', '-p', str(port), address)}   (then compare on its console)"],
                ) from None
        if self.learned and (keys := _lookup(self.learned, name)):
            return keys
        return tuple(key for path in self.files for key in _lookup(path.expanduser(), known_as(address, port)))

    def check(self, name: str, address: str, port: int, met: HostKey) -> None:
        """Return if `met` is a key that this machine may show; raise HostKeyError otherwise, which says what to do."""
        expected = self.expected(name, address, port)
        files = () if self.pinned else self.files
        if any(met.blob in _revoked(path.expanduser(), known_as(address, port)) for path in files):
            raise HostKeyError(
                f"the host key of {known_as(address, port)} is marked @revoked in known_hosts",
                where=[name],
                why=[f"met:  {met}", "No login was tried."],
            )
        if any(key.blob == met.blob for key in expected):
            return
        if expected:
            raise self._changed(name, address, port, met, expected)
        raise self._unknown(name, address, port, met)

    def learn(self, name: str, address: str, port: int, *key_lines: str) -> None:
        """Keep the keys of the machine `name` in the learned file, in place of all that it had before.

        key_lines: what the machine's own /etc/ssh/ssh_host_*_key.pub hold. Raises ValueError for a line that is no key.
        Other machines' entries stay, but for the ones that claim the same address and port.
        """
        if self.learned is None:
            raise ValueError("these host keys have no file to learn into")
        keys = [parse_key(line, str(self.learned)) for line in key_lines]
        names = {name, known_as(address, port)}
        with _locked(self.learned):
            kept = [line for line in _lines(self.learned) if not names & set(line.partition(" ")[0].split(","))]
            new = [f"{','.join(sorted(names))} {key.line}" for key in keys]
            _replace(self.learned, "".join(f"{line}\n" for line in [*kept, *new]))

    def _changed(self, name: str, address: str, port: int, met: HostKey, expected: tuple[HostKey, ...]) -> HostKeyError:
        source = expected[0].source
        if source == "inventory":
            tries = [f"ssh.host_key: {met.line}   (only if the machine's console shows the same fingerprint)"]
        elif self.learned and source.startswith(f"{self.learned}:"):
            tries = [f"{command('ssh-keygen', '-R', name, '-f', str(self.learned))}   (then it is learnt anew)"]
        else:
            file = source.rpartition(":")[0]
            tries = [f"{command('ssh-keygen', '-R', known_as(address, port), '-f', file)}   (then add the new key)"]
        return HostKeyError(
            f"the host key of {known_as(address, port)} is not the known one",
            where=[name],
            why=[
                f"met:      {met}",
                *(f"expected: {key} ({key.source})" for key in expected),
                "Either the machine was set up anew, or something stands between. No login was tried.",
                "Its console shows the right one: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
            ],
            tries=tries,
        )

    def _unknown(self, name: str, address: str, port: int, met: HostKey) -> HostKeyError:
        places = [str(place) for place in (self.learned, *self.files) if place]
        return HostKeyError(
            f"no host key is known for {known_as(address, port)}",
            where=[name],
            why=[
                f"met:      {met}",
                f"looked in {', '.join(places) or 'no file'}",
                "A key is never trusted because it was met first. No login was tried.",
                "Compare on the machine's console: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub",
            ],
            tries=[f"ssh.host_key: {met.line}   (in the inventory, if the fingerprint is the same)"],
        )


def known_as(address: str, port: int) -> str:
    """How known_hosts files call it: the address alone on port 22, else "[address]:port"."""
    return address if port == 22 else f"[{address}]:{port}"


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise HostKeyError(f"the known host keys in {path} cannot be read: {error.strerror}") from error


def _lookup(path: Path, name: str) -> tuple[HostKey, ...]:
    return tuple(key for marker, key in _entries(path, name) if marker is None)


def _revoked(path: Path, name: str) -> frozenset[bytes]:
    return frozenset(key.blob for marker, key in _entries(path, name) if marker == "@revoked")


def _entries(path: Path, name: str) -> Iterator[tuple[str | None, HostKey]]:
    """The lines for `name`: (marker, key). Lines that cannot be read are skipped, as ssh does."""
    for number, line in enumerate(_lines(path), 1):
        words = line.split()
        marker = words.pop(0) if words and words[0].startswith("@") else None
        if len(words) < 3 or words[0].startswith("#") or not _names(words[0], name):
            continue
        try:
            yield marker, parse_key(" ".join(words[1:3]), f"{path}:{number}")
        except ValueError:
            continue


def _names(patterns: str, name: str) -> bool:
    """Whether the first field of a known_hosts line means `name` (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT)."""
    if patterns.startswith("|1|"):
        salt, _, digest = patterns.removeprefix("|1|").partition("|")
        try:
            made = hmac.digest(base64.b64decode(salt), name.encode(), "sha1")
        except binascii.Error:
            return False
        return hmac.compare_digest(base64.b64encode(made).decode(), digest)
    words = patterns.lower().split(",")
    name = name.lower()
    if any(fnmatchcase(name, _glob(word[1:])) for word in words if word.startswith("!")):
        return False
    return any(fnmatchcase(name, _glob(word)) for word in words)


def _glob(pattern: str) -> str:
    return pattern.replace("[", "[[]")  # "[host]:port" is not a set of characters


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(path.name + ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as new:  # 0600
        new.write(text)
        new.flush()
        os.fsync(new.fileno())
    Path(new.name).replace(path)
