"""Which words of `pct exec` mean the container's own files."""

from pathlib import Path

import pytest

from tests.lab.container import inside

LAB = Path("/root/specrail/.lab")
HOME = LAB / "ct129"


@pytest.mark.parametrize(
    ("word", "becomes"),
    [
        ("/etc/ssh/ssh_host_ed25519_key.pub", f"{HOME}/etc/ssh/ssh_host_ed25519_key.pub"),
        ("--file=/etc/ssh/x", f"--file={HOME}/etc/ssh/x"),
        ("/etc/hostname", f"{HOME}/etc/hostname"),
        ("/root", f"{HOME}/root"),
        ("cat >> /root/.ssh/authorized_keys; hostname", f"cat >> {HOME}/root/.ssh/authorized_keys; hostname"),
        (f"{HOME}/opt/specrail", f"{HOME}/opt/specrail"),
        (f"mkdir -p {HOME}/opt /root/x", f"mkdir -p {HOME}/opt {HOME}/root/x"),
        ("/rooted /etc/sshd /mnt/root /etc/hostname.d", "/rooted /etc/sshd /mnt/root /etc/hostname.d"),
    ],
)
def test_a_word_is_moved_once_and_only_where_a_path_begins(word: str, becomes: str) -> None:
    assert inside(word, HOME, LAB) == becomes
