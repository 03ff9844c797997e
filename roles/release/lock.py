"""One operation at a time on a host: a lock there, with a lease that ends when its owner is gone."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import TracebackType

from inventory.errors import ConnectionLost, LockedError, SpecrailError
from inventory.shell import Shell, command
from roles.release.layout import Layout

LEASE_S = 90
"""How long a lock outlives its owner's last sign of life."""

_GOODBYE_S = 5
"""How long somebody whose operation has failed is kept waiting for the lock to be given back."""


@dataclass(frozen=True)
class Owner:
    """Who holds a lock: a person at a controller, running one operation.

    pid and controller_boot tell the owner's own machine whether the process still lives.
    """

    who: str
    controller: str
    controller_boot: str
    pid: int
    operation: str
    verb: str


def stale_reason(
    details: Mapping[str, object], *, now: int, boot_id: str, me: Owner, alive: Callable[[int], bool]
) -> str | None:
    """Why a lock may be taken over, or None while its owner must be believed to work.

    now and boot_id are the host's; alive says whether a process of *this* controller still runs.
    """
    if not details.get("nonce"):
        return "it says nothing about its owner"
    if details.get("boot_id") != boot_id:
        return "the host was restarted since"
    expires = details.get("expires")
    if not isinstance(expires, int) or now > expires:
        return "its owner has given no sign of life for longer than the lease"
    same_machine = (details.get("controller"), details.get("controller_boot")) == (me.controller, me.controller_boot)
    pid = details.get("pid")
    if same_machine and isinstance(pid, int) and not alive(pid):
        return f"its process ({pid}, on this machine) is gone"
    return None


class Lock:
    """A lock on one host, held while the block runs and renewed beside it.

    left_behind: whether it could not be given back; then it ends with its lease
    Raises LockedError on entering when somebody else's operation holds it.
    """

    def __init__(self, shell: Shell, layout: Layout, owner: Owner, alive: Callable[[int], bool]) -> None:
        self._shell = shell
        self._layout = layout
        self._owner = owner
        self._alive = alive
        self.left_behind = False
        self._over = threading.Event()
        self.taken_over: str | None = None
        """Whose lock this was before, and why it was free to take; None when nobody held it."""
        self._heart = threading.Thread(target=self._beat, name="specrail-lease", daemon=True)

    def __enter__(self) -> "Lock":
        stale: str | None = None
        for _ in range(2):
            wish = f"{stale or ''}\n{self._details()}\n".encode()
            try:
                result = self._shell.run(_acquire(self._layout), stdin=wish, check=True)
            except ConnectionLost as error:
                error.what = "the line broke while the host's lock was taken"
                error.why = (f"If it was taken, it ends by itself within {LEASE_S} s.",)
                raise
            verdict, _, rest = result.stdout.partition("\n")
            if verdict == "acquired":
                self._heart.start()
                return self
            head, _, text = rest.partition("\n")
            now, _, boot_id = head.partition(" ")
            try:
                details = json.loads(text)
            except ValueError:
                details = {}
            reason = stale_reason(details, now=int(now), boot_id=boot_id, me=self._owner, alive=self._alive)
            if reason is None:
                raise LockedError(
                    f"locked by {details.get('who')} at {details.get('controller')}: {details.get('verb')}",
                    where=(self._shell.name,),
                    why=[f"Its lease ends in {int(details['expires']) - int(now)} s unless it is renewed."],
                    tries=[f"invoke status --host {self._shell.name}"],
                )
            stale = str(details.get("nonce") or "?")
            self.taken_over = f"{details.get('verb') or 'an operation'} of {details.get('who') or 'somebody'}: {reason}"
        raise LockedError("another operation was faster", where=(self._shell.name,), tries=["run it again"])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.left_behind = True
        self._over.set()
        self._heart.join(timeout=10)
        try:
            self._shell.run(_release(self._layout, self._owner.operation), timeout_s=15 if kind is None else _GOODBYE_S)
            self.left_behind = False
        except SpecrailError:
            if kind is None:
                raise
            # The error on its way out matters more.

    def _details(self) -> str:
        return json.dumps({**asdict(self._owner), "nonce": self._owner.operation})

    def _beat(self) -> None:
        while not self._over.wait(LEASE_S / 3):
            try:
                self._shell.run(_renew(self._layout, self._owner.operation), timeout_s=LEASE_S / 3)
            except SpecrailError:
                continue  # the line may come back before the lease ends


def _guarded(layout: Layout, body: str) -> str:
    base = command(layout.base)
    return f"""set -eu
umask 022
base={base}
mkdir -p "$base"
exec 7>"$base/.lock-guard"
flock -w 20 7
boot=$(cat /proc/sys/kernel/random/boot_id)
now=$(date +%s)
nonce() {{ sed -n 's/.*"nonce": "\\([^"]*\\)".*/\\1/p' "$base/lock/details.json" 2>/dev/null || :; }}
stamp() {{ # the owner's JSON object, with what only the host can say
  sed "s/}}\\$/, \\"boot_id\\": \\"$boot\\", \\"since\\": ${{2:-$now}}, \\"expires\\": $((now + {LEASE_S}))}}/" <"$1" \\
    >"$base/lock/.details"
  mv -f "$base/lock/.details" "$base/lock/details.json"
}}
{body}"""


def _acquire(layout: Layout) -> str:
    return _guarded(
        layout,
        """read -r stale
cat >"$base/.lock-wish"
if [ -n "$stale" ] && { [ "$(nonce)" = "$stale" ] || { [ "$stale" = "?" ] && [ -z "$(nonce)" ]; }; }; then
  rm -rf "$base/lock"
fi
if mkdir "$base/lock" 2>/dev/null; then
  stamp "$base/.lock-wish"
  echo acquired
else
  printf 'held\\n%s %s\\n' "$now" "$boot"
  cat "$base/lock/details.json" 2>/dev/null || :
fi
rm -f "$base/.lock-wish"
""",
    )


def _renew(layout: Layout, nonce: str) -> str:
    return _guarded(
        layout,
        f"""[ "$(nonce)" = {command(nonce)} ] || exit 0
sed 's/"expires": [0-9]*/"expires": '"$((now + {LEASE_S}))"'/' "$base/lock/details.json" >"$base/lock/.details"
mv -f "$base/lock/.details" "$base/lock/details.json"
""",
    )


def _release(layout: Layout, nonce: str) -> str:
    return _guarded(layout, f"""[ "$(nonce)" != {command(nonce)} ] || rm -rf "$base/lock"\n""")
