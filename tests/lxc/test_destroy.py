"""The end of a real container, and its next beginning under the same name."""

from tests.lxc.ground import LxcGround


def test_a_destroyed_container_is_gone_and_can_be_made_anew(ground: LxcGround) -> None:
    keys = ground.inside("cat /etc/ssh/ssh_host_ed25519_key.pub").out
    destroy = ground.run("destroy", "--yes")
    assert destroy.code == 0, destroy.all
    assert "ct129" not in ground.lab.status()["containers"]
    assert ground.node("pct", "list").out.find("129") == -1
    ground.converge("15")
    assert ground.inside("cat /etc/ssh/ssh_host_ed25519_key.pub").out not in ("", keys)
