"""Servers with other numbers of tokens on one host, each on trial: the host goes back by itself unless one is kept."""

import contextlib
from collections.abc import Mapping

from pydantic import JsonValue

from inventory.errors import SpecrailError
from playbooks.beside import write_beside
from playbooks.bringup import Trial, bring_up, confirm_within_s, go_back
from playbooks.changing import DeployOutcome
from playbooks.deploy import Options as DeployOptions
from playbooks.deploy import tidy
from playbooks.site import Site
from playbooks.survey import Survey, gpu_record, survey
from playbooks.tokens import tokens_changed
from playbooks.verify import first_answer, start, stored_baseline, warn_of_foreign_graphs
from roles.release.manifest import Manifest


class Trials:
    """What is tried on a host. Its lock must be held.

    before:  the promoted release, to which every trial's way back leads
    tokens:  its k; None where it depends on the batch size
    serving: k in service now, as `tokens`
    starts:  of servers, so far
    on_trial: whether a release is in service from which the host still has to go back, unless it is kept
    load_s:  how long a trial may be measured
    """

    def __init__(self, site: Site, before: str, tokens: int | None, load_s: float) -> None:
        self.site = site
        self.before = before
        self.tokens = self.serving = tokens
        self.starts = 0
        self.on_trial = False
        self._seen: Survey = survey(site)
        self._within_s = confirm_within_s(site.host) + load_s
        self._manifest: Manifest | None = None
        self._trial: Trial | None = None
        self._nonce = ""

    def serve(self, tokens: int) -> None:
        """Bring so many tokens into service on trial, unless they serve already. Raises what the server died of."""
        if tokens == self.serving:
            return
        self.site.change_back()
        self.site.change(tokens_changed(self.site.host, tokens, name=self.site.name))
        self._try(f"{tokens} tokens" if tokens else "no speculation", tokens)

    def serve_table(self, table: Mapping[str, JsonValue]) -> None:
        """The same with the changes that a table of tokens by batch size comes to."""
        self.site.change_back()
        self.site.change(dict(table))
        self._try("tokens by batch size", None)

    def keep(self) -> DeployOutcome:
        """Put what is on trial through the gate, and promote it; the host is back at the release before where it fails.

        Raises what the server died of meanwhile; the host is back by then too.
        """
        site, manifest = self.site, self._manifest
        if manifest is None:
            raise ValueError("nothing is on trial")
        try:
            arrival = bring_up(
                site,
                manifest,
                before=self._seen.release,
                baseline=stored_baseline(site, self._seen.release, self.before),
                gpu=gpu_record(self._seen.gpu),
                trial=self._trial,
            )
        except SpecrailError:
            self.on_trial = False  # whatever went wrong, it says what became of the host
            raise
        self.on_trial = False
        return DeployOutcome(site.name, site.operation, (), manifest.id, arrival)

    def go_back(self, why: str) -> str:
        """Back to the release before, where it is not there. Returns the sentence that says what is in service then."""
        if not self.on_trial:
            return f"{self.before}, as before"
        self.site.change_back()
        self.on_trial = False
        self.starts += 1
        self.serving = self.tokens
        return go_back(self.site, self._nonce, self.before, self._seen.release, why)

    def leave(self) -> None:
        """After a Ctrl-C: send the host back at once, not only at its deadline. It is not waited for."""
        if self.on_trial:
            with contextlib.suppress(SpecrailError):
                self.site.control.revert(self._nonce, "tune: interrupted")
                self.site.if_interrupted = f"{self.before} starts again, which was not waited for"

    def tidy(self) -> None:
        """Take away the releases that were only tried."""
        tidy(self.site, self._seen)

    def _try(self, label: str, tokens: int | None) -> None:
        site = self.site
        manifest = write_beside(site, DeployOptions())
        nonce = f"{site.operation}{self.starts + 1:02d}"
        site.if_interrupted = (
            f"{label} are on trial: the host goes back to {self.before} by itself within {self._within_s:.0f} s"
        )
        # From here on: a line that breaks while the host is told to switch does not say whether it did.
        self._nonce, self.on_trial, self.starts, self.serving = nonce, True, self.starts + 1, tokens
        with site.talk.work("release", f"switch to {manifest.id}") as work:
            offset = site.control.activate(manifest.id, nonce, confirm_within_s=self._within_s, previous=self.before)
            work.done(f"trial {self.starts}, {label}: {manifest.id}")
        started = start(site, offset)
        warn_of_foreign_graphs(site, manifest, started)
        with site.endpoint() as endpoint:
            first_answer(site, endpoint, started)
        self._manifest, self._trial = manifest, Trial(nonce, started)
