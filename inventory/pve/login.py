"""Logging in to a Proxmox API with proxmoxer's parts: a token, or a ticket that is renewed before it gets old."""

from collections.abc import Callable

from proxmoxer.backends.https import ProxmoxHTTPApiTokenAuth, ProxmoxHTTPAuthBase, ProxmoxHttpSession
from requests import PreparedRequest, Response, Session
from requests.exceptions import TooManyRedirects

from inventory.models import Api, Ticket, Token
from inventory.pve.line import VerifiedAdapter

_RENEW_AFTER_S = 3600.0  # PVE's tickets last two hours


class TicketAuth(ProxmoxHTTPAuthBase):
    """A user's ticket, got with the password each time (an old ticket cannot be exchanged after a long build).

    renew raises what requests raises, and LoginRefusedError with the answer when the node says no.
    """

    def __init__(self, api: Api, ticket: Ticket, secret: Callable[[str], str], clock: Callable[[], float]) -> None:
        super().__init__(verify_ssl=True)
        self.timeout = api.timeout_s
        self._user = ticket.user
        self._password: Callable[[], str] = lambda: secret(ticket.password)
        self._url = f"{base_url(api)}/access/ticket"
        self._session = _plain_session(api)
        self._clock = clock
        self._born: float | None = None
        self._ticket = ""
        self._csrf = ""

    @property
    def fresh(self) -> bool:
        """Whether the ticket can be used for a while."""
        return self._born is not None and self._clock() - self._born < _RENEW_AFTER_S

    def renew(self) -> None:
        """Log in."""
        data = {"username": self._user, "password": self._password()}
        response = self._session.post(self._url, data=data, timeout=self.timeout, allow_redirects=False)
        if response.status_code != 200:
            raise LoginRefusedError(response)
        body = response.json()["data"]
        if body.get("NeedTFA"):
            raise LoginRefusedError(response, "the node asks for a second factor")
        self._ticket, self._csrf = body["ticket"], body["CSRFPreventionToken"]
        self._born = self._clock()

    def close(self) -> None:
        """Hang up."""
        self._session.close()

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """requests hands every request through here."""
        request.headers["Cookie"] = f"PVEAuthCookie={self._ticket}"
        if request.method != "GET":
            request.headers["CSRFPreventionToken"] = self._csrf
        return request


class LoginRefusedError(Exception):
    """The node's answer to a login that it refused; inventory.pve.api makes one of our errors of it."""

    def __init__(self, response: Response, text: str | None = None) -> None:
        super().__init__(text or response.reason)
        self.status = 401 if text else response.status_code
        self.text = text or response.reason or ""


def token_auth(api: Api, token: Token, secret: Callable[[str], str]) -> ProxmoxHTTPApiTokenAuth:
    """A token's header."""
    user, _, name = token.id.partition("!")
    return ProxmoxHTTPApiTokenAuth(user, name, secret(token.secret), timeout=api.timeout_s, verify_ssl=True)


def session(api: Api, auth: ProxmoxHTTPAuthBase) -> Session:
    """proxmoxer's session over a verified line; it follows no redirects and listens to no environment variables."""
    made = ProxmoxHttpSession()
    made.auth = auth
    _verify(made, api)
    return made


def base_url(api: Api) -> str:
    """Where the JSON API begins."""
    host = f"[{api.host}]" if ":" in api.host else api.host
    return f"https://{host}:{api.port}/api2/json"


def _plain_session(api: Api) -> Session:
    made = Session()
    _verify(made, api)
    return made


def _verify(made: Session, api: Api) -> None:
    made.trust_env = False  # proxies, netrc and REQUESTS_CA_BUNDLE: a node is reached as the inventory says
    made.hooks["response"] = _refuse_redirect
    made.mount("https://", VerifiedAdapter(api))
    # A User-Agent of its own: the node's access log then says who it was.
    made.headers.update({"Accept": "application/json", "User-Agent": "specrail"})


def _refuse_redirect(response: Response, **_: object) -> None:
    """A secret follows no redirect, and proxmoxer would take one without a target for an empty answer."""
    if 300 <= response.status_code < 400:
        response.close()
        raise TooManyRedirects(response=response)
