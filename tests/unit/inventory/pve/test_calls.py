"""What a call sends, repeats, gives up and makes of an answer."""

import socket
import threading
from collections.abc import Callable

import pytest

from inventory.errors import (
    AuthenticationFailed,
    BadParameter,
    ConnectionLost,
    NoQuorum,
    NotFound,
    PermissionDenied,
    ProxmoxError,
    SpecrailError,
    UnreachableError,
)
from tests.unit.fake_node import SECRET, TOKEN, Connect, FakeNode

CONFIG = "/nodes/pve1/lxc/129/config"
TICKET = {"token": None, "ticket": {"user": "root@pam", "password": "env:PVE_PASSWORD"}, "secret": "secret"}


def sent(fake: FakeNode, method: str, path: str) -> list[str]:
    """The bodies of the requests of a kind."""
    return [body.decode() for verb, where, body in fake.requests if (verb, where) == (method, f"/api2/json{path}")]


def test_a_write_sends_booleans_as_numbers_and_leaves_out_none(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129)
    assert connect().put(CONFIG, onboot=True, protection=False, cores=4, description=None) is None
    assert sorted(sent(fake, "PUT", CONFIG)[0].split("&")) == ["cores=4", "onboot=1", "protection=0"]


def test_names_with_a_dash_and_parameters_called_path_arrive(fake: FakeNode, connect: Connect) -> None:
    pve = connect()
    key = "ssh-ed25519 AAAA+/= me@there"
    pve.post(
        "/nodes/pve1/lxc", {"ssh-public-keys": key}, vmid=130, ostemplate="local:vztmpl/a.tar.zst", storage="local-lvm"
    )
    assert "ssh-public-keys=ssh-ed25519+AAAA%2B%2F%3D+me%40there" in sent(fake, "POST", "/nodes/pve1/lxc")[0]
    assert pve.get_map("/access/permissions", path="/vms/129")


# ---------------------------------------------------------------- logging in


def test_a_refused_token_is_named_without_its_secret(connect: Connect) -> None:
    with pytest.raises(AuthenticationFailed) as refused:
        connect(secret="not the secret").get("/version")
    assert TOKEN in str(refused.value)
    assert "not the secret" not in repr(refused.value.as_json())


def test_a_ticket_reads_and_writes(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129)
    pve = connect(**TICKET)
    pve.put(CONFIG, cores=4)
    assert pve.get_map(CONFIG)["cores"] == 4
    assert len(sent(fake, "POST", "/access/ticket")) == 1


def test_a_ticket_is_renewed_with_the_password_before_it_is_old(fake: FakeNode, connect: Connect) -> None:
    now = [0.0]
    pve = connect(clock=lambda: now[0], **TICKET)
    pve.get("/version")
    now[0] = 3 * 3600.0  # a build from source lasts longer than any ticket
    pve.get("/version")
    assert len(sent(fake, "POST", "/access/ticket")) == 2


def test_a_ticket_that_the_node_forgot_is_renewed_once(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129)
    pve = connect(**TICKET)
    pve.get("/version")
    fake.revoke_tickets()
    pve.put(CONFIG, cores=4)
    assert fake.ct(129).config["cores"] == 4


def test_a_wrong_password_is_refused(connect: Connect) -> None:
    with pytest.raises(AuthenticationFailed, match="authentication failure"):
        connect(**{**TICKET, "secret": "wrong"}).get("/version")


def test_a_second_factor_is_explained(fake: FakeNode, connect: Connect) -> None:
    fake.tfa = True
    with pytest.raises(AuthenticationFailed, match="second factor") as refused:
        connect(**TICKET).get("/version")
    assert refused.value.tries[0] == "pveum user token add root@pam specrail --privsep 1"


# ---------------------------------------------------------------- repeating


@pytest.mark.parametrize("status", [502, 503, 504, 595, 596, 599])
def test_a_read_survives_blips(status: int, fake: FakeNode, connect: Connect) -> None:
    fake.fail("GET", "/version", status, "Broken pipe", times=3)
    pauses: list[float] = []
    assert connect(sleep=pauses.append).get_map("/version")["release"] == "9.0"
    assert pauses == [0.5, 1.0, 2.0]


def test_a_read_survives_a_broken_connection(fake: FakeNode, connect: Connect) -> None:
    fake.flaky_network(drop_rate=1.0)
    assert connect(sleep=lambda _: fake.flaky_network()).get_map("/version")["release"] == "9.0"


def test_a_read_gives_up_after_four_tries(fake: FakeNode, connect: Connect) -> None:
    fake.set_node_offline("pve1")
    with pytest.raises(UnreachableError, match="No route to host") as lost:
        connect().get("/nodes/pve1/lxc")
    assert len(sent(fake, "GET", "/nodes/pve1/lxc")) == 4
    assert not isinstance(lost.value, ConnectionLost)


def test_a_read_gives_up_when_its_time_is_over(fake: FakeNode, connect: Connect) -> None:
    fake.set_node_offline("pve1")
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds + 20  # a network that takes its time to say no

    with pytest.raises(UnreachableError):
        connect(sleep=sleep, clock=lambda: now[0]).get("/nodes/pve1/lxc")
    assert len(sent(fake, "GET", "/nodes/pve1/lxc")) == 3


@pytest.mark.parametrize(
    "trouble",
    [lambda fake: fake.fail("PUT", CONFIG, 596, "Broken pipe"), lambda fake: fake.flaky_network(drop_rate=1.0)],
    ids=["596", "dropped"],
)
def test_a_write_is_never_repeated_blindly(
    trouble: Callable[[FakeNode], None], fake: FakeNode, connect: Connect
) -> None:
    fake.add_ct(129)
    pve = connect()
    pve.get("/version")
    trouble(fake)
    with pytest.raises(ConnectionLost) as lost:
        pve.put(CONFIG, cores=4)
    assert any("not known" in line or "may have been" in line for line in lost.value.why)
    assert len(sent(fake, "PUT", CONFIG)) <= 1


def test_a_write_that_was_carried_out_is_recognised(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129)
    fake.fail("PUT", CONFIG, 596, "Connection timed out")
    assert connect().put(CONFIG, cores=4, already_done=lambda: True) is None
    assert len(sent(fake, "PUT", CONFIG)) == 1


def test_a_write_that_was_not_carried_out_is_repeated(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129)
    fake.fail("PUT", CONFIG, 596, "Connection timed out", times=1)
    pve = connect()
    pve.put(CONFIG, cores=4, already_done=lambda: pve.get_map(CONFIG).get("cores") == 4)
    assert fake.ct(129).config["cores"] == 4
    assert len(sent(fake, "PUT", CONFIG)) == 2


def test_a_repeated_write_ends_too(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129)
    fake.fail("PUT", CONFIG, 596, "Connection timed out")
    with pytest.raises(ConnectionLost):
        connect().put(CONFIG, cores=4, already_done=lambda: False)
    assert len(sent(fake, "PUT", CONFIG)) == 4


def test_a_refusal_is_not_repeated(fake: FakeNode, connect: Connect) -> None:
    with pytest.raises(NotFound):
        connect().get("/nodes/pve1/lxc/999/config")
    assert len(sent(fake, "GET", "/nodes/pve1/lxc/999/config")) == 1


# ---------------------------------------------------------------- lines that lead nowhere


def test_a_node_that_hangs_is_given_up_after_the_timeout(fake: FakeNode, connect: Connect) -> None:
    fake.flaky_network(hang_rate=1.0, hang_secs=0.2)
    now = iter(range(1000))
    with pytest.raises(UnreachableError, match=r"did not answer within 0\.05 s"):
        connect(timeout_s=0.05, clock=lambda: float(next(now))).get("/version")


def test_nobody_listens(connect: Connect) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    pauses: list[float] = []
    with pytest.raises(UnreachableError, match="Connection refused") as lost:
        connect(port=port, sleep=pauses.append).put(CONFIG, cores=4)
    assert not isinstance(lost.value, ConnectionLost)
    assert lost.value.tries[0].startswith(f"nc -zv 127.0.0.1 {port}")
    assert pauses == []


def test_a_name_that_does_not_resolve(connect: Connect) -> None:
    with pytest.raises(UnreachableError, match=r"cannot connect to no-such-host\.invalid:\d+"):
        connect(host="no-such-host.invalid").get("/version")


def test_a_service_without_tls(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            line, _ = server.accept()
            with line:
                line.recv(1)
                line.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
                line.recv(4096)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(UnreachableError, match="does not speak TLS"):
            connect(port=server.getsockname()[1]).get("/version")
        thread.join(10)


def test_a_page_instead_of_an_answer(fake: FakeNode, connect: Connect) -> None:
    fake.fail("GET", "/version", 200, "<html>log in</html>", html=True)
    with pytest.raises(UnreachableError, match="does not answer in JSON"):
        connect().get("/version")


def test_an_answer_of_another_shape(connect: Connect) -> None:
    with pytest.raises(UnreachableError, match="where a list was expected"):
        connect().get_rows("/version")
    with pytest.raises(UnreachableError, match="where an object was expected"):
        connect().get_map("/nodes")


# ---------------------------------------------------------------- refusals


def test_the_text_counts_where_the_reason_phrase_is_lost(fake: FakeNode, connect: Connect) -> None:
    fake.fail("GET", "/version", 500, "\ncluster not ready - no quorum?")
    with pytest.raises(NoQuorum):
        connect().get("/version")


def test_every_refused_parameter_is_listed(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129)
    with pytest.raises(BadParameter) as refused:
        connect().put(CONFIG, memry=4, hostname="a_b")
    assert [line.partition(":")[0] for line in refused.value.why[:2]] == ["hostname", "memry"]


def test_a_token_cannot_attach_a_device_and_the_message_says_who_can(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129)
    fake.grant(TOKEN, "/", "VM.Config.Options", "VM.Config.Disk", "VM.Config.CPU")
    with pytest.raises(PermissionDenied) as refused:
        connect().put(CONFIG, dev0="/dev/nvidia0,mode=0666")
    assert "root shell" in str(refused.value)
    assert refused.value.status == 403
    assert refused.value.where == ("pve1", f"PUT {CONFIG}")


def test_a_missing_privilege_names_the_line_that_grants_it(fake: FakeNode, connect: Connect) -> None:
    fake.add_ct(129)
    fake.grant(TOKEN, "/vms/129", "VM.Config.Memory")
    with pytest.raises(PermissionDenied) as refused:
        connect().put(CONFIG, cores=4)
    assert refused.value.tries == (
        "pveum acl modify /vms/129 --users llm@pve --tokens 'llm@pve!deploy' --roles Specrail",
    )


# ---------------------------------------------------------------- permissions


def test_permissions_are_those_on_the_path_and_what_comes_down_to_it(fake: FakeNode, connect: Connect) -> None:
    fake.grant(TOKEN, "/vms/129", "VM.Audit")
    fake.grant(TOKEN, "/", "Sys.Audit")
    fake.grant(TOKEN, "/vms/1290", "VM.Allocate")
    assert connect().permissions("/vms/129") == {"VM.Audit", "Sys.Audit"}


def test_a_privilege_that_does_not_propagate_does_not_come_down(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    pve = connect()
    answers = {"/": {"Sys.Audit": 0, "VM.Audit": 1}, "/vms/129": {"VM.Allocate": 0}}
    monkeypatch.setattr(pve, "get_map", lambda *_, **__: answers)
    assert pve.permissions("/vms/129") == {"VM.Audit", "VM.Allocate"}


# ---------------------------------------------------------------- nothing else comes out


@pytest.mark.parametrize("status", [200, 204, 301, 400, 401, 403, 404, 408, 413, 429, 500, 501, 502, 511, 595, 599])
@pytest.mark.parametrize("html", [True, False])
def test_only_our_errors_come_out(status: int, html: bool, fake: FakeNode, connect: Connect) -> None:
    fake.fail("PUT", CONFIG, status, "what now?", html=html)
    if status == 200 and not html:
        assert connect().put(CONFIG, cores=1) is None
    else:
        with pytest.raises(SpecrailError) as refused:
            connect().put(CONFIG, cores=1)
        assert refused.value.tries


def test_an_answer_that_is_no_task_is_refused(connect: Connect) -> None:
    with pytest.raises(ProxmoxError, match="where a task was expected"):
        connect().wait(None)


def test_closing_is_not_the_end(connect: Connect) -> None:
    pve = connect(secret=SECRET)
    pve.close()
    assert pve.get_map("/version")
