"""The way back on a host with systemd: a timer of its own, which outlives the controller, and a deadline that outlives a boot."""

import re
import time
from collections.abc import Iterator

import pytest

from roles.release.control import Control
from tests.e2e.survival.ground import CTID, eventually
from tests.e2e.survival.inventories import SHORT_PATIENCE
from tests.lxc.ground import UNIT, LxcGround
from tests.lxc.site import site_of


@pytest.fixture
def control(ground: LxcGround) -> Iterator[Control]:
    """control.sh on the host, without a deploy around it."""
    with site_of(ground) as site:
        yield site.control


def other(ground: LxcGround) -> tuple[str, str]:
    """Ids of what is promoted, and of another release that lies there."""
    seen = ground.seen()
    assert seen.promoted is not None
    others = [release for release in seen.releases if release != seen.promoted]
    if not others:
        ground.converge(ground.other_tokens())
        return other(ground)
    return seen.promoted, others[-1]


def test_the_timer_fires_when_the_controller_is_killed(ground: LxcGround) -> None:
    before = ground.seen()
    deploy = ground.start("deploy", "--tokens", ground.other_tokens(), inventory=ground.inventory(SHORT_PATIENCE))
    deploy.until(r"\. gate +measure 1/")
    deploy.kill()
    deploy.end()
    ground.pends(previous=before.promoted)
    ground.goes_back_to(before)
    assert ground.inside("systemctl is-system-running").out.strip() == "running"


def test_a_reboot_arms_the_way_back_again(ground: LxcGround, control: Control) -> None:
    promoted, unproven = other(ground)
    before = ground.seen()
    control.activate(unproven, "reboot-1", confirm_within_s=12, previous=promoted)
    ground.reboot_inside()
    seen = ground.pends(previous=promoted)
    assert (seen.current, seen.timers) == (unproven, ("reboot-1",))
    ground.goes_back_to(before)


def test_a_deadline_that_passed_while_the_host_was_down_counts_when_it_starts(
    ground: LxcGround, control: Control
) -> None:
    promoted, unproven = other(ground)
    before = ground.seen()
    control.activate(unproven, "down-1", confirm_within_s=4, previous=promoted)
    eventually(ground.serves, "the other release serves")
    pending, log = ground.seen().pending, ground.log()
    assert pending is not None
    ground.lab.stop(CTID)
    eventually(lambda: time.time() > int(pending["deadline"]), "the deadline has passed")
    ground.lab.start(CTID)
    ground.goes_back_to(before)
    assert f"launch release={unproven}" not in ground.log().removeprefix(log)


def test_a_confirmation_survives_a_reboot(ground: LxcGround, control: Control) -> None:
    _, unproven = other(ground)
    control.activate(unproven, "confirm-1", confirm_within_s=60, previous=None)
    control.confirm("confirm-1")
    ground.reboot_inside()
    eventually(ground.serves, "it serves again")
    seen = ground.seen()
    assert (seen.current, seen.promoted, seen.pending, seen.timers) == (unproven, unproven, None, ())


def test_a_host_with_nothing_to_go_back_to_stops_and_boots_in_peace(ground: LxcGround, control: Control) -> None:
    promoted, unproven = other(ground)
    control.activate(unproven, "nothing-1", confirm_within_s=60, previous=None)
    control.revert("nothing-1", "test")
    ground.reboot_inside()
    assert ground.seen().current is None
    assert ground.inside("systemctl is-system-running").out.strip() == "running"
    assert ground.show("ActiveState", "Result", "NRestarts") == ("inactive", "exec-condition", "0")
    control.activate(promoted, "nothing-2", confirm_within_s=60, previous=None)
    control.confirm("nothing-2")
    eventually(ground.serves, "it serves")


def test_an_engine_that_cannot_start_is_given_up_and_the_way_back_still_works(
    ground: LxcGround, control: Control
) -> None:
    """Ten starts, and systemd gives up: the revert starts a unit that has failed."""
    promoted, unproven = other(ground)
    launch = f"/opt/specrail/vllm/releases/{unproven}/launch.sh"
    ground.inside(f"cp -p {launch} {launch}.good && printf '#!/bin/sh\\nexit 0\\n' >{launch}")
    limit = f"/run/systemd/system/{UNIT}.d"
    ground.inside(
        f"mkdir -p {limit} && printf '[Unit]\\nStartLimitBurst=3\\n[Service]\\nRestartSec=100ms\\n' >{limit}/quick.conf "
        "&& systemctl daemon-reload"
    )
    control.activate(unproven, "fails-1", confirm_within_s=60, previous=promoted)
    eventually(lambda: ground.show("ActiveState")[0] == "failed", "systemd gives up")
    assert len(re.findall("ended status=0", ground.log().rpartition("specrail: reverted")[2])) >= 3
    control.revert("fails-1", "test")
    eventually(ground.serves, "the promoted release serves")
    assert ground.seen().current == promoted
    ground.inside(f"mv {launch}.good {launch}; rm -r {limit}; systemctl daemon-reload")


def test_a_second_activation_takes_the_first_ones_way_back(ground: LxcGround, control: Control) -> None:
    promoted, unproven = other(ground)
    control.activate(unproven, "twice-1", confirm_within_s=60, previous=promoted)
    control.activate(unproven, "twice-2", confirm_within_s=60, previous=promoted)
    assert ground.seen().timers == ("twice-2",)
    control.revert("twice-2", "test")
    eventually(ground.serves, "the promoted release serves")
    assert ground.seen().timers == ()


def test_what_cannot_be_armed_is_not_switched(ground: LxcGround, control: Control) -> None:
    promoted, unproven = other(ground)
    before = ground.seen(), ground.show("MainPID")
    ground.inside("mv /usr/bin/systemd-run /usr/bin/systemd-run.gone")
    with pytest.raises(Exception, match="the way back cannot be armed; nothing was changed"):
        control.activate(unproven, "unarmed-1", confirm_within_s=60, previous=promoted)
    ground.inside("mv /usr/bin/systemd-run.gone /usr/bin/systemd-run")
    assert (ground.seen(), ground.show("MainPID")) == before
