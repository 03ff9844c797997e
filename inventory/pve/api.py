"""The API of a Proxmox node: verified, a deadline on every call, repeated only where that is safe, our errors only."""

import json
import re
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

import tenacity
from proxmoxer.backends.https import JsonSerializer, ProxmoxHTTPAuthBase
from proxmoxer.core import ProxmoxResource, ResourceException
from pydantic import JsonValue
from requests import RequestException, Response

from inventory.errors import ProxmoxError, SpecrailError, UnreachableError
from inventory.models import Api
from inventory.pve import tasks, upid
from inventory.pve.errors import BLIPS, Answer, Asked, classify
from inventory.pve.line import broken
from inventory.pve.login import LoginRefusedError, TicketAuth, base_url, session, token_auth
from inventory.pve.tasks import TaskResult

Method = Literal["GET", "POST", "PUT", "DELETE"]
Param = str | int | float | bool | None
Fields = Mapping[str, Param]
Done = Callable[[], bool]

NO_FIELDS: Fields = MappingProxyType({})

_ATTEMPTS = 4
_TASK_TIMEOUT_S = 600.0


class Proxmox:
    """One node, through the API that the inventory names for it.

    Paths are PVE's ("/nodes/pve1/lxc/129/config"), and so are the parameters: as keywords, or as a mapping where names
    have dashes. None is left out, True and False become 1 and 0.

    Every call may raise UnreachableError (exit 6), ConnectionLost (a write whose outcome is unknown) and the
    ProxmoxError that inventory.pve.errors makes of the node's answer. Reads are repeated after broken lines and
    gateway errors. A write is repeated only when the caller can say whether it was carried out: `already_done` is asked
    before each repetition and at the end, and when it says yes the call answers None.
    """

    @classmethod
    def connect(
        cls,
        api: Api,
        node: str,
        secret: Callable[[str], str],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> "Proxmox":
        """Make ready to call. Nothing is sent before the first call; `secret` turns a reference into its value."""
        if api.token is not None:
            return cls(api, node, api.token.id, token_auth(api, api.token, secret), clock, sleep)
        if api.ticket is not None:
            login = TicketAuth(api, api.ticket, secret, clock)
            return cls(api, node, api.ticket.user, login, clock, sleep)
        raise ValueError("an Api has a token or a ticket")

    def __init__(
        self,
        api: Api,
        node: str,
        who: str,
        login: ProxmoxHTTPAuthBase,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """Use connect: it makes the login."""
        self.node = node
        self.who = who
        self.clock = clock
        self.sleep = sleep
        self._api = api
        self._login = login
        self._session = session(api, login)
        self._root = ProxmoxResource(base_url=base_url(api), session=self._session, serializer=_Serializer())

    def get(self, path: str, /, **params: Param) -> JsonValue:
        """Read."""
        return self._call("GET", path, params)

    def get_map(self, path: str, /, **params: Param) -> dict[str, JsonValue]:
        """Read an object."""
        answer = self._call("GET", path, params)
        if not isinstance(answer, dict):
            raise self._unlike("an object", path, answer)
        return answer

    def get_rows(self, path: str, /, **params: Param) -> list[dict[str, JsonValue]]:
        """Read a list of objects; null is an empty list (interfaces of a container that boots)."""
        answer = self._call("GET", path, params)
        if answer is None:
            return []
        if not isinstance(answer, list):
            raise self._unlike("a list", path, answer)
        return [row for row in answer if isinstance(row, dict)]

    def post(
        self, path: str, fields: Fields = NO_FIELDS, /, *, already_done: Done | None = None, **params: Param
    ) -> JsonValue:
        """Create or act."""
        return self._call("POST", path, {**fields, **params}, already_done)

    def put(
        self, path: str, fields: Fields = NO_FIELDS, /, *, already_done: Done | None = None, **params: Param
    ) -> JsonValue:
        """Change."""
        return self._call("PUT", path, {**fields, **params}, already_done)

    def delete(
        self, path: str, fields: Fields = NO_FIELDS, /, *, already_done: Done | None = None, **params: Param
    ) -> JsonValue:
        """Remove."""
        return self._call("DELETE", path, {**fields, **params}, already_done)

    def wait(
        self,
        task: JsonValue,
        on_line: Callable[[str], None] | None = None,
        timeout_s: float = _TASK_TIMEOUT_S,
    ) -> TaskResult:
        """Wait for the task whose UPID a write answered, handing on its log line by line.

        Raises TaskFailed with the end of its log, DeadlineExceeded after timeout_s (it runs on), ConnectionLost when
        the node is away for two minutes.
        """
        try:
            parsed = upid.parse(str(task))
        except ValueError as error:
            raise ProxmoxError(f"the node answered {task!r} where a task was expected", where=(self.node,)) from error
        return tasks.wait(self, parsed, on_line, timeout_s, clock=self.clock, sleep=self.sleep)

    def permissions(self, path: str) -> frozenset[str]:
        """The privileges of this login on an ACL path ("/vms/129", which need not exist yet)."""
        held: set[str] = set()
        for granted, privileges in self.get_map("/access/permissions", path=path).items():
            if isinstance(privileges, dict) and (granted == path or path.startswith(granted.rstrip("/") + "/")):
                held |= {name for name, propagates in privileges.items() if granted == path or propagates}
        return frozenset(held)

    def close(self) -> None:
        """Hang up; the next call dials again."""
        self._session.close()
        if isinstance(self._login, TicketAuth):
            self._login.close()

    def _call(
        self,
        method: Method,
        path: str,
        params: Fields,
        already_done: Done | None = None,
    ) -> JsonValue:
        asked = Asked(self.node, self.who, f"{method} {path}", _ctid(path, params))
        began = self.clock()
        unsure = False

        def attempt() -> JsonValue:
            nonlocal unsure
            if unsure and already_done is not None and already_done():
                return None
            unsure = True
            return self._once(method, path, params, asked)

        try:
            if method != "GET" and already_done is None:
                return attempt()
            return tenacity.Retrying(
                retry=tenacity.retry_if_exception_type(_RepeatableError),
                stop=lambda state: state.attempt_number >= _ATTEMPTS or self.clock() - began >= self._api.timeout_s,
                wait=tenacity.wait_exponential(multiplier=0.5, max=8),
                sleep=self.sleep,
                reraise=True,
            )(attempt)
        except _RepeatableError as last:
            if already_done is not None and already_done():
                return None
            raise last.error from last.__cause__

    def _once(self, method: Method, path: str, params: Fields, asked: Asked) -> JsonValue:
        """One request. Only our errors come out, those that another try may mend wrapped in _RepeatableError."""
        try:
            if isinstance(self._login, TicketAuth) and not self._login.fresh:
                self._login.renew()
            try:
                return self._send(method, path, params)
            except ResourceException as refused:
                if refused.status_code != 401 or not isinstance(self._login, TicketAuth):
                    raise
                self._login.renew()  # a ticket also ends when the cluster's key rotates; a 401 was not carried out
                return self._send(method, path, params)
        except ResourceException as refused:
            error = classify(_answer(refused), asked)
            if refused.status_code in BLIPS:
                raise _RepeatableError(error) from refused
            raise error from refused
        except LoginRefusedError as refused:
            raise classify(Answer(refused.status, refused.text), asked) from refused
        except RequestException as failure:
            lost, repeatable = broken(failure, self._api, asked)
            if repeatable:
                raise _RepeatableError(lost) from failure
            raise lost from failure

    def _send(self, method: Method, path: str, params: Fields) -> JsonValue:
        resource = self._root(path.strip("/"))
        verb = {"GET": resource.get, "POST": resource.post, "PUT": resource.put, "DELETE": resource.delete}[method]
        wire = {name: int(value) if isinstance(value, bool) else value for name, value in params.items()}
        answer: JsonValue = verb(**wire)
        return answer

    def _unlike(self, expected: str, path: str, answer: JsonValue) -> UnreachableError:
        return UnreachableError(
            f"the API answers {json.dumps(answer)[:80]} where {expected} was expected",
            where=(self.node, f"GET {path}"),
            why=["Whatever answers there is not the Proxmox API that specrail knows (PVE 8.1 and newer)."],
            tries=["node.api.host, node.api.port  # in the inventory: are they this node's?"],
        )


class _RepeatableError(Exception):
    """Another try may mend it; `error` is what the caller sees when none does."""

    def __init__(self, error: SpecrailError) -> None:
        super().__init__(error.what)
        self.error = error


class _Serializer(JsonSerializer):
    """proxmoxer's, but the whole body of an error is kept: `message` is all that is left of it behind some proxies."""

    def loads(self, response: Response) -> JsonValue:
        """The answer's data. Raises requests' JSONDecodeError (a RequestException) for what is not JSON."""
        body = response.json()
        data: JsonValue = body.get("data") if isinstance(body, dict) else None
        return data

    def loads_errors(self, response: Response) -> dict[str, JsonValue]:
        """The answer's body, {} for what is not JSON."""
        try:
            body = response.json()
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}


def _answer(refused: ResourceException) -> Answer:
    """Status, text and messages per field. The body's message is whole; the status line's is cut or lost by proxies."""
    body = refused.errors or {}
    fields = body.get("errors") or {}
    return Answer(
        status=refused.status_code,
        text=str(body.get("message") or refused.content or "").strip(),
        fields={str(name): str(message) for name, message in fields.items()} if isinstance(fields, dict) else {},
    )


def _ctid(path: str, params: Fields) -> int | None:
    match = re.search(r"/lxc/(\d+)", path)
    number = match[1] if match else params.get("vmid")
    return int(number) if number else None
