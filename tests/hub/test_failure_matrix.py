"""The failure matrix of a hub: each row names the tests that show it, and they are there."""

import ast
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent

ROWS: dict[str, tuple[str, ...]] = {
    "no token, a wrong one or a revoked one is 401": (
        "test_joined.py::test_who_shows_no_good_token_does_not_join",
        "test_replicas.py::test_a_user_her_token_and_its_end_count_at_both_replicas",
    ),
    "none, one or several sessions where none is named, also through the other replica": (
        "test_replicas.py::test_none_one_and_several_sessions_are_meant_through_the_other_replica",
        "test_across.py::test_none_one_and_several_sessions_of_the_users_machines",
        "test_across.py::test_a_host_that_can_asks_its_person_which_of_the_machines_sessions_is_meant",
    ),
    "one commandId at both replicas at once runs once, and is answered twice": (
        "test_directory.py::test_the_same_command_on_both_replicas_at_once_runs_once",
        "test_dedupe.py::test_a_repetition_gets_the_first_answer_also_after_a_restart",
    ),
    "a slow node is a timeout; the same commandId has the result later": (
        "test_directory.py::test_a_slow_node_is_a_timeout_and_its_result_can_be_had_later",
    ),
    "a node that drops within a call is waited for, then it may have run": (
        "test_directory.py::test_a_node_that_drops_within_a_call_and_comes_back_answers",
        "test_directory.py::test_a_node_that_drops_within_a_call_and_stays_away_may_have_run_it",
        "test_joined.py::test_a_machine_that_dies_within_a_call_ends_it_at_once",
    ),
    "a second node of the same user that claims a live id is refused": (
        "test_directory.py::test_an_id_belongs_to_one_node_of_one_user",
        "test_directory.py::test_many_claims_of_one_id_at_once_have_one_winner",
    ),
    "another user who claims the id is refused, and hears nothing of it": (
        "test_directory.py::test_an_id_belongs_to_one_node_of_one_user",
        "test_users.py::test_anothers_session_is_answered_as_one_that_does_not_exist",
    ),
    "a node that dials another replica is there, and its old socket stays away": (
        "test_directory.py::test_a_node_that_dials_another_replica_is_there_and_its_old_socket_is_told",
    ),
    "the owner's replica is killed within a call": (
        "test_directory.py::test_a_replica_that_dies_within_a_call_costs_nothing",
        "test_replicas.py::test_a_replica_that_is_killed_within_a_call_costs_nothing",
    ),
    "the caller's replica is killed within a call: a repetition elsewhere has the result": (
        "test_directory.py::test_a_callers_replica_that_dies_costs_one_repetition",
    ),
    "the engine is killed: calls of the same replica work": (
        "test_directory.py::test_without_the_engine_a_replicas_own_nodes_answer_and_others_fail_at_once",
        "test_replicas.py::test_the_engine_that_is_killed_costs_calls_of_the_other_replica_only",
    ),
    "the engine is killed: calls of the other replica fail at once, not executed": (
        "test_directory.py::test_without_the_engine_a_replicas_own_nodes_answer_and_others_fail_at_once",
    ),
    "a call under way while the engine restarts": (
        "test_directory.py::test_a_call_under_way_while_the_engine_restarts_is_answered",
        "test_bus.py::test_state_is_made_again_after_the_engine_was_killed",
    ),
    "the engine is frozen: by the deadline, then fast, and nothing late": (
        "test_directory.py::test_a_frozen_engine_ends_calls_by_their_deadline_and_none_runs_late",
        "test_bus.py::test_a_frozen_engine_is_noticed_and_nothing_runs_late",
    ),
    "the owner's replica is frozen: offline within seconds, and nothing late": (
        "test_replicas.py::test_a_frozen_replica_is_known_within_seconds_and_runs_nothing_late",
    ),
    "a token is revoked while its owner is connected": (
        "test_replicas.py::test_a_call_under_way_ends_when_its_token_is_revoked_at_the_other_replica",
        "test_users.py::test_who_is_removed_is_out_at_once_with_machine_and_tokens",
    ),
    "a node has too many calls under way": (
        "test_directory.py::test_a_node_with_too_much_to_do_refuses_at_once",
        "test_hub_limits.py::test_a_machine_that_is_asked_too_much_at_once_says_so_and_runs_nothing_more",
    ),
    "replicas cannot reach each other, and both live": (
        "test_directory.py::test_replicas_that_do_not_reach_each_other_keep_their_own_and_refuse_the_rest",
        "test_directory.py::test_a_node_that_moved_while_the_engine_was_away_is_where_it_went",
    ),
    "a replica is drained": (
        "test_directory.py::test_a_drained_replica_ends_its_calls_and_sends_new_ones_on",
        "test_replicas.py::test_a_drained_replica_loses_no_call",
    ),
    "a node restarts within a call, and its memory of commands with it": (
        "test_dedupe.py::test_a_command_that_a_crash_cut_off_is_not_run_again",
    ),
    "clocks of node and hub differ": ("test_bus.py::test_clocks_that_drift_apart_age_no_message",),
    "one end of a connection is gone without a word": (
        "test_link.py::test_a_hub_notices_that_a_machine_is_frozen_and_ends_its_calls",
        "test_link.py::test_a_machine_notices_that_its_hub_is_frozen_and_comes_back",
    ),
    "hub and node are of different versions": (
        "test_link.py::test_hub_and_machine_are_updated_in_either_order",
        "test_link.py::test_a_machine_that_speaks_no_version_of_the_hubs_says_which_is_to_be_updated",
    ),
}


@cache
def _tests_in(file: str) -> frozenset[str]:
    tree = ast.parse((HERE / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(each.name for each in ast.walk(tree) if isinstance(each, kinds))


@pytest.mark.parametrize("row", ROWS)
def test_each_row_of_the_matrix_has_its_tests(row: str) -> None:
    for named in ROWS[row]:
        file, _, name = named.partition("::")
        assert name in _tests_in(file), named
