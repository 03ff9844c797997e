"""The line to a Proxmox API: how it is verified (CAs, a CA file, a fingerprint; never not at all), how it fails."""

import hashlib
import re
import ssl
from contextlib import suppress
from typing import Any

from requests import PreparedRequest, RequestException
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectTimeout, JSONDecodeError, ReadTimeout, SSLError, TooManyRedirects
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3.exceptions import NewConnectionError
from urllib3.util.ssl_ import create_urllib3_context

from inventory.errors import ConnectionLost, PreflightError, UnreachableError
from inventory.models import Api
from inventory.pve.errors import Asked
from inventory.shell import command

_LOOK_TIMEOUT_S = 10.0


class VerifiedAdapter(HTTPAdapter):
    """TLS as the inventory says, whatever `verify`, REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE say.

    With a fingerprint the certificate is compared with it right after the handshake, before a byte of a request goes
    out; names, dates and issuers no longer matter then. Raises PreflightError for a CA file that cannot be used.
    """

    def __init__(self, api: Api) -> None:
        self._tls: dict[str, object] = {"ssl_context": _context(api), "cert_reqs": "CERT_REQUIRED"}
        if api.fingerprint:
            self._tls |= {"cert_reqs": "CERT_NONE", "assert_fingerprint": api.fingerprint}
        super().__init__()

    def cert_verify(self, *_args: object, **_kwargs: object) -> None:
        """Nothing to add: requests would load its own CAs into the context here, or switch verification off."""

    def build_connection_pool_key_attributes(
        self, request: PreparedRequest, *_args: object, **_kwargs: object
    ) -> tuple[Any, Any]:
        """The pool's key: requests' own for the host, ours for TLS."""
        host, _ = super().build_connection_pool_key_attributes(request, verify=True)
        return host, dict(self._tls)


def broken(failure: RequestException, api: Api, asked: Asked) -> tuple[UnreachableError, bool]:
    """The error for a request that got no answer, and whether another try may mend it.

    A write whose request went out is ConnectionLost: nobody knows whether it was carried out.
    """
    place = f"{api.host}:{api.port}"
    text = str(failure)
    if isinstance(failure, SSLError):
        if "CERTIFICATE_VERIFY_FAILED" in text or "Fingerprints did not match" in text:
            return _refused_certificate(api, text, asked.node), False
        return _unreachable(f"{place} does not speak TLS", [_detail(text)], api, asked), False
    if isinstance(failure, JSONDecodeError):
        return _unreachable(f"{place} does not answer in JSON", ["That is no Proxmox API."], api, asked), False
    if isinstance(failure, TooManyRedirects):
        return _unreachable(
            f"{place} sends us elsewhere (HTTP redirect)", ["A Proxmox API never does."], api, asked
        ), False
    if isinstance(failure, ConnectTimeout):
        return _unreachable(f"{place} does not answer within {api.timeout_s:g} s", [], api, asked), True
    if isinstance(getattr(failure.args[0] if failure.args else None, "reason", None), NewConnectionError):
        return _unreachable(f"cannot connect to {place}: {_detail(text)}", [], api, asked), True
    timed_out = isinstance(failure, ReadTimeout)
    what = (
        f"{place} accepted the request but did not answer within {api.timeout_s:g} s"
        if timed_out
        else (f"the connection to {place} broke: {_detail(text)}")
    )
    if asked.what.startswith("GET "):
        return _unreachable(what, [], api, asked), True
    unknown = "Whether the request was carried out is not known; the same command again finds out."
    return ConnectionLost(what, where=(asked.node, asked.what), why=[unknown], tries=_tries(api)), True


def _unreachable(what: str, why: list[str], api: Api, asked: Asked) -> UnreachableError:
    return UnreachableError(what, where=(asked.node, asked.what), why=why, tries=_tries(api))


def _tries(api: Api) -> list[str]:
    return [
        f"{command('nc', '-zv', api.host, str(api.port))}  # from this machine: is the port open?",
        "systemctl status pveproxy  # as root on the node",
        "node.api.host, node.api.port  # in the inventory: are they this node's?",
    ]


def _detail(text: str) -> str:
    """The last and most particular part of a nested exception's text."""
    found = re.findall(r"\[Errno -?\d+\] ([^'\")]+)|\[SSL: [A-Z0-9_]+\] ([^(]+)|'([^']+)'\)*$", text)
    return next((part.strip() for group in reversed(found) for part in group if part), text)


def _refused_certificate(api: Api, text: str, node: str) -> UnreachableError:
    """What was seen, and how to tell whether it is the node's."""
    seen = _fingerprint_of(api)
    place = f"{api.host}:{api.port}"
    why = [f"Seen:   {seen or 'nothing any more: it did not show its certificate a second time'}  (SHA-256)"]
    compare = "pvenode cert info  # at the node's console: compare with what was seen"
    adopt = [f"node.api.fingerprint: '{seen}'  # only if they are equal"] if seen else []
    if api.fingerprint:
        return UnreachableError(
            f"the certificate at {place} is not the pinned one",
            where=(node, "API"),
            why=[
                *why,
                f"Pinned: {api.fingerprint.upper()}  (node.api.fingerprint)",
                "Either the node's certificate was renewed, or this is not the node. Nothing was sent to it.",
            ],
            tries=[compare, *adopt],
        )
    reason = re.search(r"certificate verify failed: ([^(]+)", text)
    anchor = f"the CAs in {api.ca_file}" if api.ca_file else "the CAs that this machine trusts"
    return UnreachableError(
        f"the certificate at {place} cannot be verified: {reason[1].strip(' .') if reason else text}",
        where=(node, "API"),
        why=[*why, f"It was checked against {anchor}. Nothing was sent to it."],
        tries=[
            compare,
            *adopt,
            f"scp root@{api.host}:/etc/pve/pve-root-ca.pem .  # for node.api.ca_file: the CA of the whole cluster",
        ],
    )


def _context(api: Api) -> ssl.SSLContext:
    if api.fingerprint:
        context = create_urllib3_context(cert_reqs=ssl.CERT_NONE)
        context.check_hostname = False
        return context
    try:
        context = ssl.create_default_context(cafile=api.ca_file)
    except OSError as error:  # ssl.SSLError is one too: a file that is not PEM
        raise PreflightError(
            f"node.api.ca_file {api.ca_file} cannot be used: {error.strerror or error}",
            why=["It must hold the CA's certificate in PEM form (-----BEGIN CERTIFICATE-----)."],
            tries=[command("scp", f"root@{api.host}:/etc/pve/pve-root-ca.pem", str(api.ca_file))],
        ) from error
    if not api.ca_file:
        paths = ssl.get_default_verify_paths()
        if not (paths.cafile or paths.capath):  # Pythons that are built elsewhere may not find this system's CAs
            context.load_verify_locations(DEFAULT_CA_BUNDLE_PATH)
    # Python 3.13 asks for extensions that the CA of `pvecm` does not have; before it this was OpenSSL's default.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _fingerprint_of(api: Api) -> str | None:
    """SHA-256 of the certificate that is shown now. It is only looked at: nothing is sent, the line is closed."""
    with suppress(OSError, ValueError):
        pem = ssl.get_server_certificate((api.host, api.port), timeout=_LOOK_TIMEOUT_S)
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest().upper()
        return ":".join(digest[i : i + 2] for i in range(0, len(digest), 2))
    return None
