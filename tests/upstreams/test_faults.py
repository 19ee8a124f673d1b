"""Each fault that an upstream can have, and the tests that meet it."""

from importlib import import_module
from pathlib import Path

import anyio
import pytest

from duetty.errors import ToolNotFound, ToolNotTrusted
from tests.upstreams.running import WAIT_S, Home, named, plain, trusted, until

FAULTS = {
    "never answers `initialize`": "test_slow_upstreams.test_lists_come_at_once_beside_upstreams_that_never_answer",
    "never answers lists": "test_upstream.test_one_that_says_nothing_is_given_up_in_time",
    "dies during a call": "test_upstream.test_one_that_crashes_fails_its_call_and_is_started_again",
    "floods standard error": "test_upstream.test_four_megabytes_of_complaints_are_read_and_kept_bounded",
    "malformed JSON": "test_upstream.test_words_that_are_no_messages_cost_nothing",
    "64 MiB result": "test_upstream.test_ten_megabytes_come_through_and_too_much_costs_that_call_only",
    "a result too long over HTTP": "test_http.test_each_era_is_spoken_to_a_server_elsewhere",
    "changes its tools during a call": "test_upstream.test_a_tool_that_changes_while_it_runs_waits_until_a_person_accepts_it",
    "lies in annotations": "test_trust.test_the_word_of_a_server_that_is_not_trusted_is_labelled_as_its_own",
    "violates its output schema": "test_schemas.test_an_answer_that_breaks_the_tools_own_schema_is_a_fault",
    "renames a pinned tool": "test_faults.test_a_pinned_tool_that_is_renamed_waits_under_its_new_name",
    "1,058 tools": "test_slow_upstreams.test_more_than_a_thousand_tools_are_all_there",
    "a name of 200 characters": "test_tools.test_an_odd_or_long_name_has_an_alias_that_models_take",
    "bad TOML": "test_document.test_a_wrong_table_is_named_with_file_and_line",
    "bad JSON": "test_projects.test_a_broken_file_offers_nothing_and_says_so",
    "outlives a killed server": "test_server.test_no_process_of_an_upstream_outlives_a_server_that_is_killed",
    "is not used": "test_slow_upstreams.test_a_lazy_upstream_starts_at_its_first_use_and_ends_when_it_is_not_used",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_its_test(fault: str) -> None:
    module, _, name = FAULTS[fault].partition(".")

    assert callable(getattr(import_module(f"tests.upstreams.{module}"), name))


async def test_a_pinned_tool_that_is_renamed_waits_under_its_new_name(tmp_path: Path) -> None:
    async with Home(tmp_path).running(it=plain(tools=named("change", "echo"))) as upstreams:
        upstream = await trusted(upstreams)
        with anyio.fail_after(WAIT_S):
            await upstreams.call("it", "change", {"tools": named("change", "echo2")})
            await until(upstreams, lambda: "echo2" in upstream.tools)

            with pytest.raises(ToolNotFound):
                await upstreams.call("it", "echo", {})
            with pytest.raises(ToolNotTrusted):
                await upstreams.call("it", "echo2", {})
