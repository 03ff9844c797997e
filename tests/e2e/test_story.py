"""The whole story, from nothing to nothing, as a person types it.

Each step is a fixture that needs the step before it, so that any test alone has all of the story up to its step.
"""

import json
import re
from dataclasses import dataclass

import pytest

from tests.e2e.host import Seen, look, serves
from tests.e2e.person import HOST, WRONG_CONFIG, Person, Said
from tests.lab.ground import Lab, Traffic

pytestmark = pytest.mark.timeout(900)  # one step needs all steps before it

FIELDS = ("dflash_config.mask_token_id", "dflash_config.target_layer_ids", "layer_types")
DEPLOY = f"deploy --host {HOST}"
FORCED = f"{DEPLOY} --drafter-config {WRONG_CONFIG} --allow-drafter-errors"

# The whole gate and bench, on an engine that runs three times as fast as the practice ground's own.
STORY = {"defaults.server.env.SPECRAIL_LAB_CLOCK": "30"}


@dataclass(frozen=True)
class Step:
    """One command, the host before and after it, and whether the server then completed a prompt."""

    said: Said
    before: Seen
    after: Seen
    traffic: Traffic
    serves: bool


class Story:
    """Whoever tells it."""

    def __init__(self, lab: Lab, person: Person) -> None:
        self._lab = lab
        self.person = person

    def step(self, line: str) -> Step:
        """Type it."""
        before, traffic = look(self._lab), self._lab.traffic()
        said = self.person.types(line)
        came_in = self._lab.traffic().since(traffic)
        after = look(self._lab)
        return Step(said, before, after, came_in, after.current is not None and serves(self._lab))


@pytest.fixture(scope="module")
def story(lab: Lab) -> Story:
    lab.reset()
    return Story(lab, Person(lab, lab.layout.folder / "story", STORY))


@pytest.fixture(scope="module")
def planned(story: Story) -> Step:
    return story.step(f"plan --host {HOST}")


@pytest.fixture(scope="module")
def first(story: Story, planned: Step) -> Step:
    return story.step(DEPLOY)


@pytest.fixture(scope="module")
def second(story: Story, first: Step) -> Step:
    return story.step(DEPLOY)


@pytest.fixture(scope="module")
def first_bench(story: Story, second: Step) -> Step:
    return story.step(f"bench --host {HOST}")


@pytest.fixture(scope="module")
def five(story: Story, first_bench: Step) -> Step:
    return story.step(f"{DEPLOY} --tokens 5")


@pytest.fixture(scope="module")
def second_bench(story: Story, five: Step) -> Step:
    return story.step(f"bench --host {HOST}")


@pytest.fixture(scope="module")
def refused(story: Story, second_bench: Step) -> Step:
    return story.step(f"{DEPLOY} --drafter-config {WRONG_CONFIG}")


@pytest.fixture(scope="module")
def forced(story: Story, refused: Step) -> Step:
    return story.step(FORCED)


@pytest.fixture(scope="module")
def forced_for_programs(story: Story, forced: Step) -> Step:
    return story.step(f"{FORCED} --json")


@pytest.fixture(scope="module")
def rolled_back(story: Story, forced_for_programs: Step) -> Step:
    return story.step(f"rollback --host {HOST}")


@pytest.fixture(scope="module")
def status(story: Story, rolled_back: Step) -> Step:
    return story.step(f"status --host {HOST}")


@pytest.fixture(scope="module")
def releases(story: Story, status: Step) -> Step:
    return story.step(f"releases --host {HOST}")


@pytest.fixture(scope="module")
def health(story: Story, releases: Step) -> Step:
    return story.step(f"health --host {HOST}")


@pytest.fixture(scope="module")
def logs(story: Story, health: Step) -> Step:
    return story.step(f"logs --host {HOST} --lines 7")


@pytest.fixture(scope="module")
def plan_json(story: Story, logs: Step) -> Step:
    return story.step(f"plan --host {HOST} --tokens 3 --json")


@pytest.fixture(scope="module")
def unconfirmed(story: Story, plan_json: Step) -> Step:
    return story.step(f"destroy --host {HOST}")


@pytest.fixture(scope="module")
def destroyed(story: Story, unconfirmed: Step) -> Step:
    return story.step(f"destroy --host {HOST} --yes")


# ------------------------------------------------------------------------------------------------ from nothing


def test_a_plan_from_nothing_tells_every_step_and_makes_nothing(planned: Step) -> None:
    assert planned.said.code == 0
    for words in ("create container 129", "dev0: - -> /dev/nvidia0", "build engine vllm", "keep it if it passes"):
        assert words in planned.said.all
    assert planned.traffic.api_writes == 0
    assert planned.after == planned.before
    assert planned.after.config == ""


def test_a_deploy_from_nothing_promotes(first: Step) -> None:
    assert first.said.code == 0, first.said.all
    assert first.after.settled
    assert first.serves
    assert "in service and promoted" in first.said.out


def test_the_talk_goes_to_stderr_and_the_verdict_to_stdout(first: Step) -> None:
    assert first.said.out.startswith(f"acceptance · {HOST} · release {first.after.current}")
    for role in ("container", "engine", "server", "health", "gate"):
        assert f"* {role}" in first.said.err


def test_the_container_belongs_to_specrail_and_has_its_gpus(first: Step) -> None:
    assert "tags: specrail" in first.after.config
    for device in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        assert f"/dev/{device}," in first.after.config


def test_phases_are_shown_while_the_server_starts(first: Step) -> None:
    """Not each of them: those that are over before one looks again are passed over."""
    order = ("launch", "architecture", "engine", "weights", "drafter", "weights loaded", "compile", "memory", "graphs")
    shown = re.findall(r"\. server +([a-z -]+) \(\d+ s\)", first.said.err)
    places = [(*order, "warm-up", "listen", "ready").index(phase) for phase in shown]
    assert len(places) >= 2
    assert places == sorted(set(places))


# ------------------------------------------------------------------------------------------------ the same again


def test_a_second_deploy_says_that_nothing_is_to_do(first: Step, second: Step) -> None:
    assert second.said.code == 0
    assert f"{HOST}: nothing to do; {first.after.current} is promoted and serves" in second.said.out


def test_a_second_deploy_changes_nothing_on_node_and_host(second: Step) -> None:
    assert second.after == second.before
    assert second.traffic.api_writes == 0


def test_a_second_deploy_is_not_in_the_audit(second: Step) -> None:
    assert second.after.audit == second.before.audit != b""


def test_a_second_deploy_needs_at_most_three_exec_requests(second: Step) -> None:
    assert 0 < second.traffic.all_execs <= 3


# ------------------------------------------------------------------------------------------------ bench and advice


@pytest.mark.parametrize("number", ["tok/s", "TTFT", "TPOT", "acceptance length", "per position"])
def test_bench_prints(first_bench: Step, number: str) -> None:
    assert first_bench.said.code == 0, first_bench.said.all
    assert number in first_bench.said.out


def test_bench_gives_the_rate_of_every_position(first_bench: Step) -> None:
    (line,) = [line for line in first_bench.said.out.splitlines() if "per position" in line]
    rates = [float(word) for word in line.split() if word[0].isdigit()]
    assert len(rates) == 15
    assert rates == sorted(rates, reverse=True)
    assert 0.6 < rates[0] < 0.8


def test_bench_advises_fewer_tokens_with_the_command(first_bench: Step) -> None:
    assert "positions 5-14 are accepted in under 5 % of rounds: try 5 tokens" in first_bench.said.all
    assert f"invoke deploy --host {HOST} --tokens 5" in first_bench.said.all


def test_bench_changes_nothing(first_bench: Step) -> None:
    assert first_bench.after == first_bench.before


def test_the_advice_is_promoted_against_the_release_before(first: Step, five: Step) -> None:
    assert five.said.code == 0, five.said.all
    assert five.after.settled
    assert five.serves
    assert five.after.current != first.after.current
    assert "baseline" in five.said.out
    assert "k: 15 -> 5" in five.said.out


def test_the_next_bench_shows_what_changed(first: Step, second_bench: Step) -> None:
    assert second_bench.said.code == 0, second_bench.said.all
    assert f"against {first.after.current}" in second_bench.said.out
    assert "k: 15 -> 5" in second_bench.said.out
    for column in ("before", "now", "change"):
        assert column in second_bench.said.out


def test_acceptance_lengths_of_different_k_are_not_compared(second_bench: Step) -> None:
    (line,) = [
        line for line in second_bench.said.out.splitlines() if line.strip().startswith("acceptance length tokens/round")
    ]
    assert line.split()[-1] == "-"
    assert "not comparable at another k" in second_bench.said.all


# ------------------------------------------------------------------------------------------------ a wrong drafter


@pytest.mark.parametrize("field", FIELDS)
def test_a_wrong_config_is_refused_naming(refused: Step, field: str) -> None:
    assert refused.said.code == 1
    assert field in refused.said.error.splitlines()[0]
    assert f"{field}: " in refused.said.error


def test_the_refusal_says_what_the_fields_must_be(refused: Step) -> None:
    for value in ("248070", "[1, 16, 31, 46, 61]", "sliding_attention"):
        assert value in refused.said.error


def test_a_refused_config_changes_nothing(refused: Step) -> None:
    assert refused.after == refused.before
    assert refused.traffic.api_writes == 0
    assert refused.serves


def test_forced_past_the_check_the_gate_goes_back(five: Step, forced: Step) -> None:
    assert forced.said.code == 3
    assert (forced.after.current, forced.after.promoted) == (five.after.current, five.after.current)
    assert forced.after.settled
    assert forced.serves


def test_the_forced_server_came_up_and_answered(forced: Step) -> None:
    assert re.search(r"server +serves Qwen3.6-27B.* health +answers: .* gate +fail", forced.said.err, re.DOTALL)


def test_the_verdict_names_the_cause_the_next_command_and_what_serves_now(five: Step, forced: Step) -> None:
    assert "most likely: several drafter fields are wrong at once" in forced.said.all
    assert f"next: invoke drafter --host {HOST} --drafter-config {WRONG_CONFIG}" in forced.said.all
    assert f"reverted to {five.after.current}, which answers and accepts 2." in forced.said.all


def test_the_release_that_failed_stays_for_a_look_and_is_not_promoted(forced: Step) -> None:
    (new,) = set(forced.after.releases) - set(forced.before.releases)
    assert new not in (forced.after.current, forced.after.promoted)


def test_a_collapse_shows_in_fewer_than_sixty_rounds(forced_for_programs: Step) -> None:
    answer = forced_for_programs.said.answer
    assert forced_for_programs.said.code == answer["exit_code"] == 3
    assert answer["gate"]["outcome"] == "fail"
    assert answer["gate"]["collapsed"]
    assert 0 < answer["gate"]["rounds"] < 60


def test_programs_get_the_causes_and_what_serves_now(five: Step, forced_for_programs: Step) -> None:
    answer = forced_for_programs.said.answer
    assert "several drafter fields" in json.dumps(answer["causes"][0])
    assert answer["outcome"] == "reverted"
    assert answer["in_service"] == five.after.current
    assert f"reverted to {five.after.current}" in answer["reverted"]


# ------------------------------------------------------------------------------------------------ back, and a look


def test_rollback_goes_to_the_release_before_that_passed(first: Step, rolled_back: Step) -> None:
    assert rolled_back.said.code == 0, rolled_back.said.all
    assert rolled_back.after.current == first.after.current
    assert rolled_back.after.settled
    assert rolled_back.serves


def test_rollback_builds_and_writes_no_release(rolled_back: Step) -> None:
    assert rolled_back.after.releases == rolled_back.before.releases
    assert rolled_back.after.venvs == rolled_back.before.venvs
    assert rolled_back.traffic.api_writes == 0


def test_rollback_is_verified_by_the_gate(first: Step, rolled_back: Step) -> None:
    assert rolled_back.said.out.startswith(f"acceptance · {HOST} · release {first.after.current}")
    assert re.search(r"gate +pass", rolled_back.said.err)


def test_status_says_what_runs(first: Step, status: Step) -> None:
    assert status.said.code == 0
    for words in ("serves Qwen3.6-27B", str(first.after.current), "15 speculative tokens", "580.95.05", "rollback"):
        assert words in status.said.all


def test_releases_lists_all_with_their_verdicts(first: Step, five: Step, releases: Step) -> None:
    assert releases.said.code == 0
    lines = {release: line for line in releases.said.out.splitlines() for release in line.split() if "T" in release}
    assert set(releases.after.releases) <= set(lines)
    assert "current+promoted" in lines[str(first.after.current)]
    assert "pass" in lines[str(five.after.current)]
    assert sum("fail" in line for line in lines.values()) == 2


def test_health_asks_for_a_completion(health: Step) -> None:
    assert health.said.code == 0
    assert f"{HOST} is healthy: Qwen3.6-27B, one completion in" in health.said.out


def test_logs_prints_the_end_of_the_engines_log(logs: Step) -> None:
    assert logs.said.code == 0
    assert len(logs.said.out.splitlines()) == 7
    assert "APIServer" in logs.said.out


@pytest.mark.parametrize("look_around", ["status", "releases", "health", "logs", "plan_json"])
def test_looking_changes_nothing(request: pytest.FixtureRequest, look_around: str) -> None:
    step: Step = request.getfixturevalue(look_around)
    assert step.after == step.before
    assert step.traffic.api_writes == 0


def test_plan_json_is_the_plan_with_its_differences(plan_json: Step) -> None:
    answer = plan_json.said.answer
    assert plan_json.said.code == answer["exit_code"] == 0
    assert answer["outcome"] == "changes"
    (release,) = [step for step in answer["steps"] if step["role"] == "release"]
    assert {"what": "drafter.tokens", "from": "15", "to": "3"} in release["diff"]


def test_nobody_is_asked_where_nobody_is(unconfirmed: Step) -> None:
    assert unconfirmed.said.code == 2
    assert "--yes" in unconfirmed.said.error
    assert unconfirmed.after == unconfirmed.before


def test_destroy_takes_the_container_away(destroyed: Step) -> None:
    assert destroyed.said.code == 0, destroyed.said.all
    assert destroyed.after.config == ""
    assert not any(path.startswith("opt/") for path in destroyed.after.files)


def test_a_whole_story_leaves_nothing_in_the_home(story: Story, destroyed: Step) -> None:
    assert list(story.person.home.iterdir()) == []
