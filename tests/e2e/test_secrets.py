"""Secrets that were planted are in the server's environment file, and nowhere else that specrail writes or prints."""

import base64
import json
import shlex
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.host import serves
from tests.e2e.person import HOST, QUICK, WRONG_CONFIG, Person, Said
from tests.lab.ground import Lab

pytestmark = pytest.mark.timeout(900)  # one fixture types everything

API_KEY = "sk-cAnArY\"7$x/+=Zq'9\\e"
"""With all that a shell, JSON, a URL and an env file write in another way."""

OTHER_API_KEY = "sk-cAnArY-the-next-one-31337"
FILE_TOKEN = "hf_cAnArYfile0123456789"
COMMAND_TOKEN = 'cAnArY command "quoted" $HOME `id` 98765'
WRONG_PVE_TOKEN = "0cAnArY0-7777-4444-8888-wrong0pve0token"

PLANTED = {"VLLM_API_KEY": API_KEY, "HF_TOKEN": FILE_TOKEN, "OTHER_TOKEN": COMMAND_TOKEN}

VERBS = {
    f"plan --host {HOST}": 0,
    f"deploy --host {HOST}": 0,
    f"deploy --host {HOST} --update": 0,
    f"bench --host {HOST} --json": 0,
    f"deploy --host {HOST} --tokens 5 --json": 0,
    f"deploy --host {HOST} --drafter-config {WRONG_CONFIG} --allow-drafter-errors": 3,
    f"rollback --host {HOST}": 0,
    f"status --host {HOST} --json": 0,
    f"releases --host {HOST} --json": 0,
    f"health --host {HOST}": 0,
    f"logs --host {HOST} --lines 10000": 0,
    f"inventory.show --host {HOST}": 0,
    f"inventory.show --host {HOST} --json": 0,
}
"""What is typed, and how it ends."""


@dataclass
class Heard:
    """All that was said, and the command lines of all processes meanwhile."""

    said: list[Said] = field(default_factory=list)
    command_lines: set[bytes] = field(default_factory=set)
    secrets: dict[str, str] = field(default_factory=dict)
    files: dict[str, tuple[int, bytes]] = field(default_factory=dict)


@contextmanager
def watching(command_lines: set[bytes]) -> Iterator[None]:
    """Collect every command line on this machine, as anybody on it can."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    command_lines.add(file.read_bytes())
                except OSError:  # it has ended
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


@pytest.fixture(scope="module")
def heard(lab: Lab) -> Heard:
    """Every verb, with good secrets, with a server that wants another key, and with a token that the node refuses."""
    lab.reset()
    person = Person(lab, lab.layout.folder / "secrets-person")
    for name, value in {"hf": FILE_TOKEN, "other": COMMAND_TOKEN, "pve": WRONG_PVE_TOKEN}.items():
        file = person.folder / name
        file.touch(mode=0o600)
        file.write_text(value)
    planted: Mapping[str, object] = {
        **QUICK,
        "defaults.server.secrets": {
            "VLLM_API_KEY": "env:CANARY",
            "HF_TOKEN": f"file:{person.folder / 'hf'}",
            "OTHER_TOKEN": f"command:cat {person.folder / 'other'}",
        },
    }
    inventory = person.writes("planted.yml", planted)
    wrong = person.writes("wrong.yml", {**planted, "nodes.pve1.api.token.secret": f"file:{person.folder / 'pve'}"})

    heard = Heard()
    with watching(heard.command_lines):
        heard.said += [person.types(verb, inventory=inventory, CANARY=API_KEY) for verb in VERBS]
        assert serves(lab, API_KEY)
        for verb in ("plan", "health", "bench"):  # the server has another key than the one we have now
            heard.said.append(person.types(f"{verb} --host {HOST}", inventory=inventory, CANARY=OTHER_API_KEY))
        for verb in (f"deploy --host {HOST}", f"deploy --host {HOST} --json"):
            heard.said.append(person.types(verb, inventory=wrong, CANARY=API_KEY))
    token = (lab.layout.secrets / "token").read_text().strip()
    key = [line for line in lab.layout.login_key.read_text().splitlines() if "-----" not in line][1]
    heard.secrets = PLANTED | {
        "next API key": OTHER_API_KEY,
        "wrong PVE token": WRONG_PVE_TOKEN,
        "PVE token": token,
        "login key": key,
    }
    for place in (person.state, person.home, lab.layout.container(129), lab.layout.node, lab.layout.logs):
        for path in place.rglob("*"):
            if path.is_file() and not path.is_symlink() and path.stat().st_size < 10_000_000:
                relative = str(path.relative_to(lab.layout.folder))
                heard.files[relative] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
    heard.said.append(person.types(f"destroy --host {HOST} --yes --json", inventory=inventory, CANARY=API_KEY))
    return heard


def forms(secret: str) -> set[bytes]:
    """A secret as it may be written."""
    raw = secret.encode()
    texts = {secret, json.dumps(secret)[1:-1], shlex.quote(secret)[1:-1], quote(secret), quote(secret, safe="")}
    return {text.encode() for text in texts} | {base64.b64encode(raw), base64.b64encode(b"Bearer " + raw)}


def places(secret: str, texts: Mapping[str, bytes]) -> list[str]:
    """Where a secret stands in any form."""
    return [name for name, text in texts.items() if any(form in text for form in forms(secret))]


def test_every_verb_ended_as_it_should(heard: Heard) -> None:
    assert {said.typed: said.code for said in heard.said[: len(VERBS)]} == VERBS
    assert heard.said[-1].code == 0


def test_the_secrets_are_in_the_servers_environment(heard: Heard) -> None:
    """Which is where a shell reads them, so there they are quoted for one."""
    environments = {name: content for name, (_, content) in heard.files.items() if name.endswith("/server.env")}
    assert len(environments) == 3
    for text in environments.values():
        for name, value in PLANTED.items():
            assert f"{name}={shlex.quote(value)}\n".encode() in text


def test_only_the_owner_may_read_the_environment(heard: Heard) -> None:
    modes = {mode for name, (mode, _) in heard.files.items() if name.endswith("/server.env")}
    assert modes == {0o600}


SECRETS = [*PLANTED, "next API key", "wrong PVE token", "PVE token", "login key"]


@pytest.mark.parametrize("name", SECRETS)
def test_nothing_says_the_secret(heard: Heard, name: str) -> None:
    said = {f"{number} {one.typed}": f"{one.out}{one.err}".encode() for number, one in enumerate(heard.said)}
    assert places(heard.secrets[name], said) == []


@pytest.mark.parametrize("name", SECRETS)
def test_no_file_but_the_environment_holds_the_secret(heard: Heard, name: str) -> None:
    files = {path: content for path, (_, content) in heard.files.items() if not path.endswith("/server.env")}
    for written in ("audit.jsonl", "manifest.json", "gate.json", "launch.sh", "history.sqlite3", "traffic.jsonl"):
        assert any(path.endswith(f"/{written}") for path in files)
    assert places(heard.secrets[name], files) == []


@pytest.mark.parametrize("name", SECRETS)
def test_no_process_had_the_secret_on_its_command_line(heard: Heard, name: str) -> None:
    command_lines = {line.replace(b"\0", b" ").decode(errors="replace"): line for line in heard.command_lines}
    assert any("vllm serve" in line for line in command_lines)
    assert any("control.sh" in line for line in command_lines)
    assert places(heard.secrets[name], command_lines) == []
