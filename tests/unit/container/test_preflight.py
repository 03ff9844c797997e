"""Everything that is missing is said at once, before anything is changed."""

import pytest

from inventory.errors import PermissionDenied, PreflightError, UnreachableError
from inventory.pve import rights
from roles.container import facts
from roles.container.preflight import preflight
from tests.unit.container.ground import FILE, TEMPLATE, prepare, want
from tests.unit.fake_node import TOKEN, Connect, FakeNode


def check(connect: Connect, **wanted: object) -> None:
    pve = connect()
    preflight(pve, want(**wanted), facts.read(pve, 129))


def refusal(connect: Connect, **wanted: object) -> PreflightError:
    with pytest.raises(PreflightError) as refused:
        check(connect, **wanted)
    return refused.value


@pytest.fixture(autouse=True)
def ground(fake: FakeNode) -> None:
    prepare(fake)


def test_all_is_there(fake: FakeNode, connect: Connect) -> None:
    pve = connect()
    found = preflight(pve, want(), facts.read(pve, 129))
    assert found.version == (9, 0, 10)
    assert found.templates == frozenset({TEMPLATE})
    assert found.bridges is not None
    assert "vmbr0" in found.bridges
    assert {method for method, _, _ in fake.requests} == {"GET"}


def test_quorum_is_unknown_to_who_may_not_ask(fake: FakeNode, connect: Connect) -> None:
    fake.fail("GET", "/cluster/status", 403, "Permission check failed (/, Sys.Audit)")
    pve = connect()
    assert preflight(pve, want(), facts.read(pve, 129)).quorate is None


def test_lost_quorum_is_seen_by_who_may_ask(fake: FakeNode, connect: Connect) -> None:
    fake.lose_quorum()
    assert "no quorum" in refusal(connect).what


def test_a_template_that_was_not_downloaded(connect: Connect) -> None:
    error = refusal(connect, template="local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst")
    assert (
        error.what
        == f"the template local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst is not there (there is: {TEMPLATE})"
    )
    assert error.tries == (
        "pveam update && pveam download local debian-13-standard_13.1-2_amd64.tar.zst  # as root on pve1",
    )
    assert error.why == ("Nothing was changed.",)


def test_a_storage_that_holds_no_containers(fake: FakeNode, connect: Connect) -> None:
    error = refusal(connect, storage="local")
    assert error.what == "the storage local holds no containers' disks (but backup, iso, vztmpl)"
    assert error.tries == ("pvesm status --content rootdir  # as root on pve1",)


def test_a_storage_that_is_not_there(fake: FakeNode, connect: Connect) -> None:
    fake.grant(TOKEN, "/storage/tank", *rights.PRIVILEGES)
    assert refusal(connect, storage="tank").what == "pve1 has no storage tank"


def test_a_storage_that_is_down(fake: FakeNode, connect: Connect) -> None:
    fake.storages["local-lvm"]["active"] = 0
    assert refusal(connect).what == "the storage local-lvm is not active"


def test_a_storage_that_is_full(fake: FakeNode, connect: Connect) -> None:
    fake.storages["local-lvm"]["avail"] = 20 * 1024**3
    error = refusal(connect)
    assert error.what == "the storage local-lvm has 20 GiB free, container.rootfs_gib wants 64"
    assert error.tries[-1] == "container.rootfs_gib: 20"


def test_the_templates_storage_that_is_down(fake: FakeNode, connect: Connect) -> None:
    fake.storages["local"]["active"] = 0
    assert refusal(connect).what == "the storage local of the template is not active"


def test_the_templates_storage_that_is_not_there(fake: FakeNode, connect: Connect) -> None:
    fake.grant(TOKEN, "/storage/nas", *rights.PRIVILEGES)
    assert refusal(connect, template=f"nas:vztmpl/{FILE}").what == "pve1 has no storage nas"


def test_a_bridge_that_is_not_there(fake: FakeNode, connect: Connect) -> None:
    fake.grant(TOKEN, "/sdn/zones/localnetwork/vmbr7", "SDN.Use")
    assert refusal(connect, net={"bridge": "vmbr7"}).what.startswith("pve1 shows no bridge vmbr7 (it shows ")


def test_a_node_that_is_off(fake: FakeNode, connect: Connect) -> None:
    fake.add_node("pve2")
    pve = connect()
    have = facts.read(pve, 129)
    fake.set_node_offline("pve1")
    with pytest.raises(PreflightError) as refused:
        preflight(pve, want(), have)
    assert refused.value.what == "pve1 is offline (it has pve1, pve2)"


def test_a_node_that_is_another(connect: Connect) -> None:
    pve = connect()
    have = facts.read(pve, 129)
    pve.node = "pve7"
    with pytest.raises(PreflightError, match=r"the cluster has no node pve7 \(it has pve1\)"):
        preflight(pve, want(), have)


def test_a_node_that_is_too_old(fake: FakeNode, connect: Connect) -> None:
    fake.version = "7.4.1"
    assert refusal(connect).what == "PVE 7.4.1 is too old: devices for containers came with 8.1"


def test_several_things_at_once(fake: FakeNode, connect: Connect) -> None:
    fake.storages["local-lvm"]["active"] = 0
    error = refusal(connect, template="local:vztmpl/x.tar.zst", net={"bridge": "vmbr0", "tag": 20}, pool="llm")
    assert error.what == "2 things are missing on pve1"
    assert error.why[:2] == (
        "the storage local-lvm is not active",
        f"the template local:vztmpl/x.tar.zst is not there (there is: {TEMPLATE})",
    )
    assert len(error.tries) == 2


# ---------------------------------------------------------------- privileges


ON_GUEST = ", ".join(name for name in rights.PRIVILEGES if name.startswith("VM."))


@pytest.mark.parametrize(
    ("path", "lacking"),
    [
        ("/vms/129", ON_GUEST),
        ("/storage/local-lvm", "Datastore.AllocateSpace"),
        ("/storage/local", "Datastore.Audit"),
        ("/sdn/zones/localnetwork/vmbr0", "SDN.Use"),
    ],
)
def test_a_path_without_the_role_is_named_with_its_line(
    path: str, lacking: str, fake: FakeNode, connect: Connect
) -> None:
    pve = connect()
    have = facts.read(pve, 129)
    fake.acl.clear()
    prepare(fake, without=path)
    with pytest.raises(PermissionDenied) as refused:
        preflight(pve, want(), have)
    assert refused.value.what == f"llm@pve!deploy lacks {lacking} on {path}"
    assert refused.value.tries == (
        f"pveum acl modify {path} --users llm@pve --tokens 'llm@pve!deploy' --roles Specrail",
    )
    assert refused.value.why[0].startswith("The role, once per cluster: pveum role add Specrail --privs 'VM.Allocate ")


def test_a_token_without_any_right_gets_every_line_at_once(fake: FakeNode, connect: Connect) -> None:
    pve = connect()
    have = facts.read(pve, 129)
    fake.acl.clear()
    fake.grant(TOKEN, "/nodes/pve1", "Sys.Audit")
    with pytest.raises(PermissionDenied) as refused:
        preflight(pve, want(), have)
    assert refused.value.what == "4 things are missing on pve1"
    assert [line.split()[3] for line in refused.value.tries] == [
        "/vms/129",
        "/storage/local-lvm",
        "/storage/local",
        "/sdn/zones/localnetwork/vmbr0",
    ]


def test_one_privilege_less_is_seen(fake: FakeNode, connect: Connect) -> None:
    fake.acl.clear()
    prepare(fake, without="VM.PowerMgmt")
    with pytest.raises(PermissionDenied, match=r"lacks VM\.PowerMgmt on /vms/129"):
        check(connect)


def test_rights_may_hang_on_the_pool(fake: FakeNode, connect: Connect) -> None:
    pve = connect()
    have = facts.read(pve, 129)
    fake.acl.clear()
    prepare(fake, without="/vms/129")
    fake.grant(TOKEN, "/pool/llm", *rights.PRIVILEGES)
    preflight(pve, want(pool="llm"), have)
    with pytest.raises(PermissionDenied, match="on /pool/other"):
        preflight(pve, want(pool="other"), have)


def test_a_vlan_may_be_granted_alone(fake: FakeNode, connect: Connect) -> None:
    fake.acl.clear()
    prepare(fake, without="/sdn/zones/localnetwork/vmbr0")
    fake.grant(TOKEN, "/sdn/zones/localnetwork/vmbr0/20", "SDN.Use")
    check(connect, net={"tag": 20})
    with pytest.raises(PermissionDenied, match="/sdn/zones/localnetwork/vmbr0/21"):
        check(connect, net={"tag": 21})


def test_a_privileged_container_needs_more(connect: Connect) -> None:
    with pytest.raises(PermissionDenied, match=r"lacks Sys\.Modify on /") as refused:
        check(connect, unprivileged=False)
    extend = "pveum role modify Specrail --append 1 --privs Sys.Modify"
    grant = "pveum acl modify / --users llm@pve --tokens 'llm@pve!deploy' --roles Specrail"
    assert refused.value.tries == ("container.unprivileged: true", f"{extend} && {grant}")


def test_an_existing_container_needs_no_template_and_no_space(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129, "ct129", status="running", config={"tags": "specrail"})
    fake.storages["local-lvm"]["avail"] = 0
    fake.acl.clear()
    prepare(fake, without="VM.Allocate")
    check(connect, template="local:vztmpl/gone.tar.zst")
    asked = {path.removeprefix("/api2/json") for _, path, _ in fake.requests}
    assert not any("storage" in path or "network" in path for path in asked)


def test_root_lacks_nothing(fake: FakeNode, connect: Connect) -> None:
    pve = connect(token=None, ticket={"user": "root@pam", "password": "env:PVE_PASSWORD"}, secret="secret")
    preflight(pve, want(unprivileged=False), facts.read(pve, 129))


def test_a_node_that_does_not_answer_is_unreachable(fake: FakeNode, connect: Connect) -> None:
    pve = connect()
    have = facts.read(pve, 129)
    fake.flaky_network(drop_rate=1.0)
    with pytest.raises(UnreachableError):
        preflight(pve, want(), have)
