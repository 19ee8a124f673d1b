"""Rows of the published design (sections 1.2, 1.4, 3, 4, 7, 8), each with the test that shows it.

A row whose test is gone fails here; what a row means is in the test itself.
"""

from importlib import import_module

import pytest

UP = "tests.upstreams"
ELWOOD = "tests.edges.mcp.test_elwood"
_TOOLS = f"{ELWOOD}.test_tools_resources_and_prompts_are_those_of_the_document"
_READ = f"{ELWOOD}.test_every_resource_is_read_as_its_kind"
_RUN = f"{ELWOOD}.test_a_command_is_run_its_pane_read_resized_and_typed_into"
_LISTED = f"{UP}.test_gateway.test_tools_of_all_upstreams_are_listed_marked_and_called"
_PASSED = f"{UP}.test_gateway.test_resources_and_prompts_are_passed_on_under_names_of_ours"
_ASKED = (
    f"{UP}.test_asking.test_a_server_borrows_the_model_and_the_person_of_the_host_that_calls_it"
)
_ROOTS = (
    "tests.peers.test_servers.test_workspaces_of_open_sessions_are_told_to_who_may_know_of_them"
)
_TEXT = f"{UP}.test_document.test_the_documents_own_text_is_taken_as_it_stands"
_FLOW = f"{UP}.test_trust.test_each_step_of_the_flow"

ROWS = {
    "1.2 tools": _LISTED,
    "1.2 resources": _PASSED,
    "1.2 prompts": _PASSED,
    "1.2 sampling": _ASKED,
    "1.2 roots": _ROOTS,
    "1.2 elicitation": _ASKED,
    "1.4 client: roots": _ROOTS,
    "1.4 client: sampling": _ASKED,
    "1.4 client: elicitation": _ASKED,
    "1.4 server: tools": _LISTED,
    "1.4 server: resources": _PASSED,
    "1.4 server: prompts": _PASSED,
    "1.4 server: logging": f"{UP}.test_asking.test_what_a_server_logs_reaches_who_asked_for_it",
    "1.4 server: completions": "tests.peers.test_servers.test_places_of_prompts_and_resources_are_completed_by_their_server",
    "3.1 terminal://pane/{pane_id}/content": _READ,
    "3.1 terminal://pane/{pane_id}/scrollback?lines={n}": _READ,
    "3.1 elwood://history/commands?limit={n}": _READ,
    "3.1 elwood://session/{session_id}/log": _READ,
    "3.1 elwood://cwd": _READ,
    "3.1 elwood://git/status": _READ,
    "3.1 elwood://block/{block_id}/output": _READ,
    "3.2 templates": _TOOLS,
    "3.2 elwood://file/{path}": _READ,
    "3.3 terminal_execute": _RUN,
    "3.3 terminal_send_keys": _RUN,
    "3.3 terminal_read_screen": _RUN,
    "3.3 terminal_get_panes": _RUN,
    "3.3 terminal_resize_pane": _RUN,
    "3.3 agent_send_message, agent_get_status": _TOOLS,
    "3.4 fix_error": f"{ELWOOD}.test_the_prompt_has_the_last_failure_with_its_output_directory_and_repository",
    "4.1 spawn, initialize, discover, register, operate": _LISTED,
    "4.1 monitor": f"{UP}.test_gateway.test_a_client_of_the_handshake_era_hears_of_tools_that_go",
    "4.1 shutdown": f"{UP}.test_upstream.test_it_is_asked_to_end_before_it_is_made_to",
    "4.2 mcp__{server}__{tool}": _LISTED,
    "4.2 risk from annotations": f"{UP}.test_tools.test_of_two_words_about_its_risk_the_worse_one_counts",
    "4.2 results": f"{UP}.test_gateway.test_results_are_passed_on_as_they_are",
    "4.3 browse and attach": f"{UP}.test_server.test_a_person_looks_trusts_calls_and_turns_from_the_command_line",
    "7.1 [mcp], [mcp.servers.NAME], permissions": _TEXT,
    "7.2 project files add servers": f"{UP}.test_projects.test_a_project_starts_nothing_before_a_person_accepted_its_file",
    "7.2 project files raise no trust": f"{UP}.test_projects.test_a_file_of_each_form_is_read_and_held_to_what_a_project_may_say",
    "7.2 project files loosen no rule": f"{UP}.test_document.test_a_projects_file_tightens_and_what_it_allows_says_nothing",
    "7.3 ${VAR}": f"{UP}.test_settings.test_variables_are_filled_in_and_missing_ones_named",
    "8.1 trusted, untrusted": _FLOW,
    "8.1 sandbox": f"{UP}.test_sandbox.test_a_sandbox_that_cannot_be_had_is_an_error_and_nothing_starts",
    "8.2 trust, rules, person, error": _FLOW,
    "8.2 which step decided": f"{UP}.test_trust.test_the_answer_says_which_step_decided",
    "8.3 annotations are not believed": f"{UP}.test_trust.test_the_word_of_a_server_that_is_not_trusted_is_labelled_as_its_own",
    "8.4 permissions.allow and deny": f"{UP}.test_document.test_permissions_become_rules_and_stay_when_rules_are_saved",
}


@pytest.mark.parametrize("row", ROWS)
def test_each_row_of_the_design_has_its_test(row: str) -> None:
    module, _, name = ROWS[row].rpartition(".")

    assert callable(getattr(import_module(module), name))
