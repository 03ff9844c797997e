"""Names that are allowed, and look-alikes that are not."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from inventory.leaks import is_secret_name, is_secret_value
from inventory.names import AbsolutePath, Address, EnvName, HostName, SecretReference, ServiceName


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (HostName, ["ct129", "A", "a-b", "1", "a" * 63], ["", "-a", "a-", "a_b", "a.b", "a b", "ä", "a\n", "a" * 64]),
        (Address, ["pve1.example.net", "10.0.0.1", "::1", "2001:db8::5", "localhost", "a.b."],
         ["", "10.0.0.256", "10.0.0", "1.2.3.4.5", ":::1", "g::1", "a..b", "a_b", "10.0.0.1:22", "a/b", "-a"]),
        (AbsolutePath, ["/", "/a", "/mnt/models/Qwen3.6-27B", "/a/.b/..c", "/a@b+c"],
         ["", "a", "/a/", "//a", "/a//b", "/a/../b", "/.", "/a b", "/a,b", "/a=b", "/a%b", "/a'b", "/a\n", "/ä"]),
        (ServiceName, ["vllm", "v2-a"], ["", "Vllm", "2v", "-v", "v_l", "v.l", "v\n", "v" * 42]),
        (EnvName, ["A", "_a1"], ["", "1A", "A-B", "A B", "A=", "Ä", "A\n"]),
        (SecretReference, ["env:A", "file:~/x y", "command:pass show x"],
         ["", "A", "env:", "env:1", "file:", "command:", "vault:x", "env:A B", "file:a\nb"]),
    ],
)  # fmt: skip
def test_what_a_name_may_be(kind: Any, good: list[str], bad: list[str]) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(kind)
    for text in good:
        assert adapter.validate_python(text) == text
    for text in bad:
        with pytest.raises(ValidationError):
            adapter.validate_python(text)


def test_names_of_secrets_are_known_from_look_alikes() -> None:
    secrets = (
        "HF_TOKEN HUGGING_FACE_HUB_TOKEN VLLM_API_KEY OPENAI_KEY AWS_SECRET_ACCESS_KEY DB_PASSWORD KEY KEY2 APIKEY"
    )
    harmless = "TOKENIZERS_PARALLELISM MAX_TOKENS mask_token_id SSL_KEYFILE SSL_KEY_FILE MONKEY KEYBOARD VLLM_PORT"
    flags = "--api-key --hf-token"
    harmless_flags = "--tokenizer --max-num-batched-tokens --ssl-keyfile --kv-cache-dtype"
    assert [name for name in f"{secrets} {flags}".split() if not is_secret_name(name)] == []
    assert [name for name in f"{harmless} {harmless_flags}".split() if is_secret_name(name)] == []


def test_forms_of_secrets_are_known_from_look_alikes() -> None:
    secrets = [
        "hf_AbCdEfGhIjKlMnOpQrStUvWxYz",
        "sk-proj-1234567890abcdef",
        "ghp_0123456789abcdefghij",
        "Authorization: Bearer abcdefgh12345",
        "https://me:word@example.net/simple",
        "PVEAPIToken=a@pve!t=00000000-0000",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
    ]
    harmless = [
        "hf_overrides",
        "disk-cache",
        "sk-ssh-ed25519@openssh.com AAAA1234",
        "https://example.net:8080/simple",
        "ssh://git@example.net/a.git",
        "bearer of news",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5",
    ]
    assert [text for text in secrets if not is_secret_value(text)] == []
    assert [text for text in harmless if is_secret_value(text)] == []
