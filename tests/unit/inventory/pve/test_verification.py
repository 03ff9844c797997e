"""The line to the API is verified, always, and a certificate that is refused is shown."""

import hashlib
import ssl
from pathlib import Path

import pytest

from inventory.errors import PreflightError, UnreachableError
from tests.unit.fake_node import SECRET, TOKEN, Connect, FakeNode, certificate, serving

OTHER = ":".join(["AA"] * 32)


def fingerprint(pki: tuple[Path, Path]) -> str:
    der = ssl.PEM_cert_to_DER_cert(pki[0].read_text())
    return ":".join(f"{byte:02X}" for byte in hashlib.sha256(der).digest())


def test_a_ca_file_is_an_anchor(connect: Connect) -> None:
    assert connect().get_map("/version")["release"] == "9.0"


def test_a_fingerprint_is_an_anchor_whatever_the_name(pki: tuple[Path, Path], connect: Connect) -> None:
    with serving(*pki, host="127.0.0.9") as elsewhere:
        elsewhere.apitokens[TOKEN] = SECRET
        pve = connect(host="127.0.0.9", port=elsewhere.port, ca_file=None, fingerprint=fingerprint(pki))
        assert pve.get_map("/version")["release"] == "9.0"


def test_the_systems_cas_are_the_anchor_without_either(
    pki: tuple[Path, Path], connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(pki[0]))
    assert connect(ca_file=None).get_map("/version")["release"] == "9.0"


def test_an_unknown_ca_is_refused_and_shows_what_was_seen(
    fake: FakeNode, pki: tuple[Path, Path], connect: Connect
) -> None:
    with pytest.raises(UnreachableError) as refused:
        connect(ca_file=None).get("/version")
    text = str(refused.value)
    assert "cannot be verified: self-signed certificate" in text
    assert f"Seen:   {fingerprint(pki)}" in text
    assert "pvenode cert info" in refused.value.tries[0]
    assert f"node.api.fingerprint: '{fingerprint(pki)}'" in refused.value.tries[1]
    assert fake.requests == []


def test_another_fingerprint_is_refused_before_a_secret_is_sent(
    fake: FakeNode, pki: tuple[Path, Path], connect: Connect
) -> None:
    with pytest.raises(UnreachableError) as refused:
        connect(ca_file=None, fingerprint=OTHER).get("/version")
    text = str(refused.value)
    assert f"Seen:   {fingerprint(pki)}" in text
    assert f"Pinned: {OTHER}" in text
    assert "pvenode cert info" in refused.value.tries[0]
    assert fake.requests == []


def test_a_certificate_for_another_name_is_refused(pki: tuple[Path, Path], connect: Connect) -> None:
    with serving(*pki, host="127.0.0.9") as elsewhere, pytest.raises(UnreachableError, match="IP address mismatch"):
        connect(host="127.0.0.9", port=elsewhere.port).get("/version")


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_the_environment_adds_no_anchor(
    variable: str, pki: tuple[Path, Path], connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(pki[0]))
    with pytest.raises(UnreachableError, match="cannot be verified"):
        connect(ca_file=None).get("/version")


def test_the_environment_takes_no_anchor_away(
    tmp_path: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "nothing.pem"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    assert connect().get_map("/version")["release"] == "9.0"


def test_a_ca_file_excludes_the_systems_cas(
    tmp_path: Path, pki: tuple[Path, Path], connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(pki[0]))
    unrelated, _ = certificate(tmp_path)
    with pytest.raises(UnreachableError, match="cannot be verified"):
        connect(ca_file=str(unrelated)).get("/version")


@pytest.mark.parametrize("content", [None, b"", b"\xff\x00 no PEM"])
def test_a_ca_file_that_is_none_is_named(content: bytes | None, tmp_path: Path, connect: Connect) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PreflightError) as refused:
        connect(ca_file=str(path))
    assert str(path) in refused.value.what
    assert refused.value.tries[0] == f"scp root@127.0.0.1:/etc/pve/pve-root-ca.pem {path}"


def test_a_ticket_is_never_asked_for_over_an_unverified_line(fake: FakeNode, connect: Connect) -> None:
    ticket = {"user": "root@pam", "password": "env:PVE_PASSWORD"}
    with pytest.raises(UnreachableError, match="is not the pinned one"):
        connect(token=None, ticket=ticket, ca_file=None, fingerprint=OTHER, secret="secret").get("/version")
    assert fake.requests == []
