"""Which host keys are right for a machine, and what is said when another is met."""

import base64
import hashlib
import stat
import subprocess
import threading
from pathlib import Path

import asyncssh
import paramiko
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import HostKeyError, UsageError
from inventory.ssh.known_hosts import HostKey, HostKeys, known_as, parse_key


def new_key(kind: str = "ssh-ed25519") -> str:
    return asyncssh.generate_private_key(kind).export_public_key().decode().strip()


ONE, TWO = new_key(), new_key()


def met(line: str) -> HostKey:
    return parse_key(line, "met")


def check(keys: HostKeys, line: str, address: str = "192.0.2.9", port: int = 22) -> None:
    keys.check("ct129", address, port, met(line))


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return tmp_path / "known_hosts"


def test_a_fingerprint_is_what_ssh_keygen_prints(tmp_path: Path) -> None:
    key = met(ONE)
    digest = hashlib.sha256(base64.b64decode(ONE.split()[1])).digest()
    assert key.fingerprint == "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
    (tmp_path / "key.pub").write_text(ONE)
    try:
        shown = subprocess.run(
            ["ssh-keygen", "-lf", str(tmp_path / "key.pub")], capture_output=True, text=True, check=True
        ).stdout
    except FileNotFoundError:
        pytest.skip("ssh-keygen is not installed")
    assert key.fingerprint in shown


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"])
def test_each_kind_of_key_is_read(kind: str) -> None:
    line = new_key(kind)
    assert met(line).kind == kind
    assert met(line).line == " ".join(line.split()[:2])


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 no-base64!",
        pytest.param("ssh-rsa " + ONE.split()[1], id="kinds"),
        "ssh-rsa AAAA",
    ],
)
def test_what_is_no_key_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="not a public key"):
        met(line)


def test_a_pinned_key_is_the_only_right_one(known: Path) -> None:
    known.write_text(f"192.0.2.9 {TWO}\n")
    keys = HostKeys(pinned=f"{ONE} root@ct129", files=[known])
    check(keys, ONE)
    with pytest.raises(HostKeyError):
        check(keys, TWO)


def test_a_pinned_text_that_is_no_key_is_a_fault_in_the_inventory() -> None:
    with pytest.raises(UsageError, match=r"ssh\.host_key is not a public key"):
        check(HostKeys(pinned="ssh-ed25519 garbage"), ONE)


def test_a_changed_key_is_told_with_both_fingerprints_the_file_the_line_and_what_to_do(known: Path) -> None:
    known.write_text(f"# a comment\n\n192.0.2.9 {ONE}\n")
    with pytest.raises(HostKeyError) as caught:
        check(HostKeys(files=[known]), TWO)
    text = str(caught.value)
    assert text.startswith("ct129: the host key of 192.0.2.9 is not the known one\n")
    assert f"met:      ssh-ed25519 {met(TWO).fingerprint}" in text
    assert f"expected: ssh-ed25519 {met(ONE).fingerprint} ({known}:3)" in text
    assert caught.value.tries == (f"ssh-keygen -R 192.0.2.9 -f {known}   (then add the new key)",)


def test_an_unknown_key_is_told_with_a_line_for_the_inventory(known: Path) -> None:
    with pytest.raises(HostKeyError) as caught:
        check(HostKeys(files=[known]), ONE, port=2222)
    assert caught.value.what == "no host key is known for [192.0.2.9]:2222"
    assert f"looked in {known}" in caught.value.why
    assert caught.value.tries[0].startswith(f"ssh.host_key: {' '.join(ONE.split()[:2])} ")


@pytest.mark.parametrize("port", [22, 2222])
@pytest.mark.parametrize(
    "form",
    [
        "{name} {key}",
        "other,{name},third {key}",
        "{hashed} {key}",
        "{name}\t{key} a comment",
        "{upper} {key}",
        "{star} {key}",
    ],
)
def test_names_are_found_as_openssh_writes_them(known: Path, form: str, port: int) -> None:
    name = known_as("ct129.example", port)
    line = form.format(
        name=name,
        key=ONE,
        hashed=paramiko.HostKeys.hash_host(name),
        upper=name.upper(),
        star=name.replace("ct129", "ct*"),
    )
    known.write_text(f"{line}\n")
    check(HostKeys(files=[known]), ONE, "ct129.example", port)


@pytest.mark.parametrize(
    "line",
    [
        "192.0.2.90 {key}",
        "[192.0.2.9]:22222 {key}",
        "192.0.2.*,!192.0.2.9 {key}",
        "|1|c2FsdA==|bm90IHRoaXMgb25l {key}",
        "|1|broken {key}",
        "@cert-authority * {key}",
        "# 192.0.2.9 {key}",
        "192.0.2.9 ssh-rsa broken",
        "192.0.2.9",
    ],
)
def test_lines_that_are_not_for_this_machine_do_not_let_it_in(known: Path, line: str) -> None:
    known.write_text(line.format(key=ONE) + "\n")
    with pytest.raises(HostKeyError, match="no host key is known"):
        check(HostKeys(files=[known]), ONE)


def test_one_of_several_keys_is_enough_even_of_one_kind(known: Path) -> None:
    known.write_text(f"192.0.2.9 {ONE}\n192.0.2.9 {TWO}\n")
    check(HostKeys(files=[known]), ONE)
    check(HostKeys(files=[known]), TWO)


def test_a_revoked_key_is_refused_though_another_line_knows_it(known: Path) -> None:
    known.write_text(f"192.0.2.9 {ONE}\n@revoked * {ONE}\n")
    with pytest.raises(HostKeyError, match="@revoked"):
        check(HostKeys(files=[known]), ONE)


def test_a_file_that_cannot_be_read_is_told_not_taken_for_empty(tmp_path: Path) -> None:
    with pytest.raises(HostKeyError, match="cannot be read: Is a directory"):
        check(HostKeys(files=[tmp_path]), ONE)


@given(st.binary())
def test_no_file_is_too_strange_to_be_read(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Any bytes as a known_hosts file: the machine is unknown, or known; nothing else is raised."""
    known = tmp_path_factory.mktemp("keys") / "known_hosts"
    known.write_bytes(content)
    assert HostKeys(files=[known]).expected("ct129", "192.0.2.9", 22) == ()


class TestLearning:
    """Keys of containers, read through their node."""

    @pytest.fixture
    def keys(self, tmp_path: Path) -> HostKeys:
        return HostKeys(learned=tmp_path / "state" / "keys")

    def test_learnt_keys_are_right_whatever_address_the_container_has_next(self, keys: HostKeys) -> None:
        keys.learn("ct129", "192.0.2.9", 22, ONE, TWO)
        check(keys, ONE)
        check(keys, TWO, address="192.0.2.77", port=2222)

    def test_learning_again_replaces_what_was_known(self, keys: HostKeys) -> None:
        keys.learn("ct129", "192.0.2.9", 22, ONE)
        keys.learn("ct129", "192.0.2.10", 22, TWO)
        with pytest.raises(HostKeyError, match="not the known one"):
            check(keys, ONE)
        check(keys, TWO)

    def test_other_containers_stay_but_not_one_that_had_this_address(self, keys: HostKeys) -> None:
        keys.learn("ct128", "192.0.2.8", 22, ONE)
        keys.learn("ct130", "192.0.2.9", 22, ONE)
        keys.learn("ct129", "192.0.2.9", 22, TWO)
        assert [bool(keys.expected(name, "", 22)) for name in ("ct128", "ct129", "ct130")] == [True, True, False]

    def test_what_was_learnt_counts_before_known_hosts_files(self, keys: HostKeys, known: Path) -> None:
        """A container that was made anew at an address that ~/.ssh/known_hosts remembers."""
        known.write_text(f"192.0.2.9 {ONE}\n")
        both = HostKeys(learned=keys.learned, files=[known])
        both.learn("ct129", "192.0.2.9", 22, TWO)
        check(both, TWO)
        with pytest.raises(HostKeyError):
            check(both, ONE)

    def test_openssh_can_use_the_file_too(self, keys: HostKeys) -> None:
        keys.learn("ct129", "192.0.2.9", 2222, ONE)
        assert keys.learned is not None
        theirs = paramiko.HostKeys(str(keys.learned))
        assert theirs.check("[192.0.2.9]:2222", paramiko.PKey.from_type_string(ONE.split()[0], met(ONE).blob))
        assert theirs.lookup("ct129") is not None

    def test_the_file_is_for_its_owner_only(self, keys: HostKeys) -> None:
        keys.learn("ct129", "192.0.2.9", 22, ONE)
        assert keys.learned is not None
        assert stat.S_IMODE(keys.learned.stat().st_mode) == 0o600

    def test_what_is_no_key_is_not_learnt_and_what_was_known_stays(self, keys: HostKeys) -> None:
        keys.learn("ct129", "192.0.2.9", 22, ONE)
        with pytest.raises(ValueError, match="not a public key"):
            keys.learn("ct129", "192.0.2.9", 22, TWO, "cat: /etc/ssh/ssh_host_rsa_key.pub: No such file or directory")
        check(keys, ONE)

    def test_many_hosts_learnt_at_once_are_all_known(self, keys: HostKeys) -> None:
        learners = [
            threading.Thread(target=keys.learn, args=(f"ct{number}", f"192.0.2.{number}", 22, ONE))
            for number in range(100, 116)
        ]
        for learner in learners:
            learner.start()
        for learner in learners:
            learner.join()
        assert all(keys.expected(f"ct{number}", "", 22) for number in range(100, 116))
