"""specrail's own lines to a host of the practice ground, without a playbook around them."""

import contextlib
import io
import os
from collections.abc import Iterator
from unittest import mock

from rich.console import Console

from inventory.load import load
from playbooks.site import STATE_VARIABLE, Site
from tests.e2e.person import CHECKOUT, HOST
from tests.lxc.ground import LxcGround


@contextlib.contextmanager
def site_of(ground: LxcGround) -> Iterator[Site]:
    """The site of ct129, with what earlier commands have learnt."""
    (resolved,) = load(ground.lab.inventory).select([HOST])
    state = {STATE_VARIABLE: ground.person.environment()[STATE_VARIABLE]}
    with (
        mock.patch.dict(os.environ, state),
        Site(resolved, verb="test", checkout=CHECKOUT, talk_to=Console(file=io.StringIO())) as site,
    ):
        yield site
