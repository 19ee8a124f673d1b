"""The published contract's given/when/then cases: which test shows each, and where we differ.

Numbers are those of the contract's own selection, which leaves some out. A case that differs
says why; `docs/contract-cases.md` is written from this (`python -m tests.published.cases`).
"""

import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    says: str
    """What holds, in our words."""

    shown_by: tuple[str, ...]
    """`file::test`, below `tests/`."""

    differs: str = ""
    """What is another way here, and why."""


def case(says: str, *shown_by: str, differs: str = "") -> Case:
    return Case(says=says, shown_by=shown_by, differs=differs)


SESSIONS = "edges/http/test_sessions.py::test_"
SCREENS = "edges/http/test_screens.py::test_"
IDLE = "edges/http/test_idle.py::test_"
ODD = "edges/http/test_odd_requests.py::test_"
AUTH = "edges/http/test_auth.py::test_"
NETWORK = "edges/http/test_network.py::test_"
ATTACKS = "edges/http/test_attacks.py::test_"
WS = "edges/websocket/test_json_session.py::test_"
WS_SERVER = "edges/websocket/test_json_server.py::test_"
WS_ODD = "edges/websocket/test_odd_requests.py::test_"
RAW = "edges/websocket/test_raw.py::test_"
SHARING = "edges/websocket/test_sharing.py::test_"
SURFACE = "edges/test_surface.py::test_"
ATTACHED = "cli/attach/test_in_a_terminal.py::test_"
HOSTILE = "cli/attach/test_hostile_bytes.py::test_"
ELEMENTS = "cli/attach/test_elements.py::test_"
INSTANCES = "cli/test_instances.py::test_"
SERVERS = "hub/test_servers.py::test_"
FORWARDING = "hub/test_forwarding.py::test_"
TOOLS = "edges/mcp/test_tools.py::test_"
VISUAL = "edges/mcp/test_overlays_and_keys.py::test_"

SOCKET = (
    "The unix socket speaks HTTP and WebSocket as the network does, not frames of its own: one "
    "protocol, one set of checks. The behaviour is the same."
)
DESIGN_OF_TOOLS = (
    "Shapes of MCP results are those of the design that the dialect implements, which is older "
    "than that server's code."
)

CASES: dict[int, Case] = {
    1: case("health answers anybody", SESSIONS + "health_answers_without_a_token"),
    2: case("health takes GET only", SESSIONS + "a_wrong_method_is_told_all_the_right_ones"),
    4: case("the root leads to the page", SESSIONS + "the_root_leads_to_the_page"),
    5: case(
        "every answer has the security headers",
        SESSIONS + "every_answer_carries_the_security_headers",
        differs="The policy of an API answer is stricter: it may load nothing, itself included.",
    ),
    7: case(
        "a base prefix moves everything, health answers without it too",
        NETWORK + "below_a_prefix_everything_has_it_and_health_answers_without_it_too",
    ),
    8: case("the server says who it is", SESSIONS + "the_server_says_who_it_is"),
    10: case(
        "a named session is found", SESSIONS + "a_session_is_created_found_renamed_and_removed"
    ),
    11: case("a name is given once", SESSIONS + "a_name_that_is_taken_is_a_conflict"),
    13: case(
        "an unknown session is not found",
        SESSIONS + "a_session_that_is_not_there_is_not_found_whatever_is_asked",
    ),
    14: case(
        "a renamed session has its new name only",
        SESSIONS + "a_session_is_created_found_renamed_and_removed",
    ),
    16: case(
        "sessions do not mix",
        SESSIONS + "what_is_typed_into_one_session_is_not_seen_in_another",
    ),
    17: case(
        "everything of a new session can be read",
        SESSIONS + "everything_about_a_new_session_can_be_read",
    ),
    19: case(
        "the list tells the last activity",
        SESSIONS + "every_session_in_the_list_says_when_something_last_happened",
    ),
    20: case(
        "names have 1 to 64 bytes of letters, digits, - _ .",
        SESSIONS + "a_name_that_is_none_is_refused",
        SESSIONS + "a_name_may_have_letters_of_any_script",
    ),
    22: case(
        "a session gets the variables it was given",
        SESSIONS + "the_environment_of_a_session_can_be_added_to",
    ),
    23: case(
        "the end of a shell is told",
        SESSIONS + "an_exited_session_stays_readable_until_it_is_removed",
        WS_SERVER + "an_unnamed_session_gets_a_number_and_its_exit_is_told",
        differs="A session whose process ended stays, with its screen, output and exit code, until "
        "somebody removes it (or `session.exited_s` seconds are over): else nobody could read what a "
        "short command printed. `session_exited` is told at once, `session_destroyed` at removal.",
    ),
    25: case("tags are sorted", ODD + "tags_are_sorted_and_there_may_be_none"),
    26: case("without tags the list is empty", ODD + "tags_are_sorted_and_there_may_be_none"),
    28: case("tags filter, any of several", SESSIONS + "sessions_are_found_by_any_of_several_tags"),
    29: case("tags outlive a rename", SESSIONS + "a_renamed_session_keeps_its_tags"),
    31: case(
        "a tag is there once",
        SESSIONS + "a_tag_is_there_once_and_one_that_is_not_there_can_be_removed",
    ),
    32: case(
        "any-session idle takes tags",
        IDLE + "any_session_may_be_the_quiet_one_and_tags_choose_among_them",
    ),
    34: case(
        "rapid inputs all arrive",
        SCREENS + "input_of_any_content_type_reaches_the_program_verbatim",
    ),
    35: case(
        "input of three kinds at once all arrives",
        SHARING + "input_of_a_viewer_of_http_and_of_a_websocket_all_arrives",
    ),
    37: case(
        "a fresh session has as many lines as rows",
        SCREENS + "a_fresh_session_has_as_many_lines_as_rows",
    ),
    38: case(
        "lines are counted the same everywhere",
        SCREENS + "lines_that_left_the_screen_are_counted_the_same_everywhere",
    ),
    40: case(
        "styled lines have styles, plain ones none", SCREENS + "a_screen_has_the_published_shape"
    ),
    41: case(
        "blank ends are trimmed unless coloured",
        SCREENS + "blank_ends_of_lines_are_trimmed_unless_they_have_a_colour",
    ),
    43: case(
        "the alternate screen is known in every spelling",
        SCREENS + "the_alternate_screen_is_known_and_leaves_the_history_alone",
        "vt/test_terminal_properties.py::test_any_split_of_the_bytes_gives_the_same_terminal",
        differs="The 8-bit control 9B does not begin a sequence: in UTF-8 that byte is part of a "
        "character, and our emulator leaves C1 controls out.",
    ),
    44: case(
        "there, the scrollback is that screen",
        SCREENS + "the_alternate_screen_is_known_and_leaves_the_history_alone",
    ),
    46: case("the epoch grows", SCREENS + "the_epoch_grows_with_every_change"),
    47: case("idle answers with the screen", IDLE + "a_quiet_session_answers_with_its_screen"),
    49: case(
        "one that was quiet answers at once",
        IDLE + "a_session_that_was_quiet_already_answers_without_waiting",
    ),
    50: case("one that is active is waited for", IDLE + "a_session_that_is_active_is_waited_for"),
    52: case("one touch is one generation", IDLE + "one_touch_is_one_generation"),
    53: case(
        "the generation seen last is waited past",
        IDLE + "the_generation_seen_last_is_waited_past",
    ),
    55: case("that wait has a bound", IDLE + "waiting_past_a_generation_has_a_bound"),
    56: case(
        "fresh silence begins with the question", IDLE + "fresh_silence_begins_with_the_question"
    ),
    58: case(
        "no session, nothing to wait for", IDLE + "without_any_session_there_is_none_to_wait_for"
    ),
    59: case("the silence must be said", IDLE + "the_silence_to_wait_for_must_be_said"),
    61: case("hello comes first", WS + "an_answer_carries_id_method_and_result"),
    62: case("an answer has id, method and result", WS + "an_answer_carries_id_method_and_result"),
    64: case(
        "an unknown method is named",
        WS + "unknown_methods_and_bad_parameters_are_told_with_id_and_method",
    ),
    65: case("input in either encoding", WS + "input_reaches_the_program_in_either_encoding"),
    67: case(
        "answers come between events",
        WS_ODD + "answers_come_by_id_between_the_events_of_a_subscription",
    ),
    68: case(
        "await_idle waits, in time, and past a generation",
        WS + "await_idle_answers_when_it_is_quiet_and_in_time_when_it_is_not",
        WS + "a_wait_for_news_ends_when_there_are_some",
    ),
    70: case(
        "a quiet session is idle at once",
        WS + "a_quiet_session_is_idle_at_once_then_running_then_idle",
    ),
    71: case(
        "an active one is running first", WS + "a_session_that_was_just_active_is_running_first"
    ),
    73: case("a second wait supersedes the first", WS + "a_second_wait_supersedes_the_first"),
    74: case("a size is brought into range", WS + "a_resize_is_brought_into_range_and_resets"),
    76: case(
        "a batch changes spans and writes",
        WS + "overlays_panels_and_batches_by_their_published_names",
        SURFACE + "a_batch_is_done_whole_or_not_at_all",
    ),
    77: case("plain lines are strings", WS + "lines_are_plain_when_that_was_asked_for"),
    79: case(
        "raw output is identical",
        RAW + "the_screen_comes_first_then_identical_bytes",
        differs="The screen comes first, then the bytes: whoever connects sees what is there.",
    ),
    80: case("raw input is identical", RAW + "text_and_binary_are_typed_as_they_are"),
    82: case(
        "sessions are created with a name or a number",
        WS_SERVER + "sessions_are_created_renamed_tagged_and_killed_and_each_is_told",
        WS_ODD + "the_first_session_without_a_name_is_called_0",
    ),
    83: case(
        "sessions are killed",
        WS_SERVER + "sessions_are_created_renamed_tagged_and_killed_and_each_is_told",
        WS_ODD + "who_removes_the_session_of_its_own_connection_gets_the_answer_first",
    ),
    85: case(
        "a method about a session needs its name",
        WS_SERVER + "a_method_about_a_session_needs_its_name",
    ),
    86: case(
        "coming and going is told",
        WS_SERVER + "sessions_are_created_renamed_tagged_and_killed_and_each_is_told",
    ),
    88: case(
        "activity is told with the session's name",
        WS_SERVER + "activity_of_a_session_is_told_with_its_name",
    ),
    89: case("an overlay comes back as made", SURFACE + "an_overlay_is_given_back_as_it_was_made"),
    91: case("a move keeps the text", SURFACE + "an_overlay_is_moved_without_losing_its_text"),
    92: case("a deleted overlay is gone", SURFACE + "a_deleted_or_unknown_overlay_is_not_found"),
    94: case(
        "only the named span changes",
        SURFACE + "only_the_named_span_changes_and_with_all_its_fields",
    ),
    95: case(
        "region writes keep order and style",
        SURFACE + "region_writes_are_kept_in_order_with_their_styles",
    ),
    97: case(
        "a panel without room waits", SURFACE + "a_panel_without_room_is_hidden_until_there_is_some"
    ),
    98: case(
        "panels at both edges",
        SURFACE + "panels_at_both_edges_leave_the_rest_to_the_program",
    ),
    100: case(
        "the screen mode is entered and left once",
        SURFACE + "the_screen_mode_is_entered_and_left_once",
    ),
    101: case("each mode has its elements", SURFACE + "each_screen_mode_has_its_own_elements"),
    103: case(
        "the program's alternate screen is another thing",
        "session/test_elements.py::test_the_programs_own_alternate_screen_is_another_thing",
    ),
    104: case(
        "writes at other cells add, at the same replace",
        SURFACE + "writes_at_other_cells_add_and_at_the_same_cell_replace",
    ),
    106: case("wrong verbs are not allowed", SURFACE + "a_wrong_verb_is_not_allowed"),
    107: case("the focus is given and taken", SURFACE + "the_focus_is_given_read_and_taken"),
    109: case(
        "what takes no keys gets no focus",
        SURFACE + "what_takes_no_keys_or_is_unknown_cannot_be_focused",
    ),
    110: case(
        "Ctrl+\\ toggles, twice detaches, with a key between does not",
        SURFACE + "the_hotkey_toggles_the_mode_and_is_not_passed_on",
        ATTACHED + "two_ctrl_backslash_detach_and_leave_the_terminal_as_it_was",
        ELEMENTS + "one_ctrl_backslash_takes_the_keyboard_and_the_next_gives_it_back",
        ELEMENTS + "ctrl_backslash_with_another_key_between_does_not_detach",
        HOSTILE + "two_ctrl_backslash_with_a_key_between_them_do_not_detach",
    ),
    112: case(
        "no token 401, a wrong one 403, health open",
        AUTH + "without_a_token_nothing_but_health_answers",
        AUTH + "a_wrong_token_is_told_from_none",
        differs="A token is needed on loopback too, from the first start.",
    ),
    113: case("a token in the query is none", AUTH + "a_token_in_the_query_is_no_token"),
    115: case(
        "tickets age and are bounded",
        AUTH + "a_ticket_that_is_too_old_is_refused",
        AUTH + "tickets_that_nobody_uses_are_bounded",
    ),
    116: case("MCP asks for the token", AUTH + "the_mcp_door_asks_for_the_same_token"),
    118: case(
        "the limit is per second",
        NETWORK + "as_many_requests_a_second_as_the_limit_says_are_answered",
        "edges/http/test_limits.py::test_a_steady_hundred_a_second_is_never_refused",
    ),
    119: case(
        "TLS beyond loopback answers",
        NETWORK + "with_tls_beyond_loopback_an_authorised_request_is_answered",
    ),
    121: case(
        "another content type is 415, another Accept 406",
        ODD + "a_tool_call_of_another_kind_is_told_which_it_must_be",
    ),
    122: case(
        "the tools are listed",
        TOOLS + "the_tools_are_listed_with_titles_schemas_and_hints",
    ),
    124: case(
        "the prompts are listed and read",
        "edges/mcp/test_prompts.py::test_every_prompt_is_listed_and_gives_its_document",
        "edges/mcp/test_prompts.py::test_the_core_prompt_speaks_of_tools_and_not_of_http",
        differs="Nine prompts, as designed: the tenth taught a cluster by calls that do not exist.",
    ),
    125: case(
        "a session by tools, from create to kill",
        TOOLS + "a_session_is_created_as_asked_listed_and_killed",
        TOOLS + "wrong_calls_are_errors_of_the_protocol_with_the_messages_of_the_http_edge",
        differs=DESIGN_OF_TOOLS,
    ),
    127: case(
        "overlays and panels by tools",
        VISUAL + "an_overlay_is_created_listed_changed_and_removed",
        VISUAL + "a_panel_takes_rows_from_the_program_and_gives_them_back",
        differs=DESIGN_OF_TOOLS,
    ),
    128: case(
        "input and screen mode by tools",
        VISUAL + "the_keyboard_is_captured_read_and_released",
        VISUAL + "overlays_of_the_alt_mode_go_with_it",
    ),
    130: case(
        "the bridge ends when stdin does",
        "edges/mcp/test_bridge.py::test_closing_stdin_ends_the_bridge_and_not_the_server",
    ),
    131: case(
        "instances are apart, and each runs once",
        INSTANCES + "two_instances_run_side_by_side_with_sessions_of_their_own",
        INSTANCES + "an_instance_runs_once_and_again_after_it_was_killed",
    ),
    133: case(
        "a silent local connection is closed",
        ATTACKS + "a_local_connection_that_says_nothing_is_cut_off_too",
    ),
    134: case(
        "a bad beginning and an unknown session are told",
        ATTACKS + "what_a_local_client_says_first_is_a_request_or_refused",
        ATTACKS + "a_local_client_cannot_follow_a_session_that_does_not_exist",
        differs=SOCKET,
    ),
    136: case(
        "size, keys and two viewers of one session",
        SHARING + "a_resize_reaches_the_program_and_two_viewers_see_the_same",
        differs=SOCKET,
    ),
    137: case(
        "kill removes, detach keeps, both end an attached terminal",
        ATTACHED + "killing_the_session_ends_the_attached_terminal",
        ATTACHED + "detach_sends_every_attached_terminal_away",
        differs=SOCKET,
    ),
    139: case(
        "the token can be had locally",
        "cli/test_commands.py::test_the_token_that_is_printed_opens_the_api",
        differs="It is a file of the user's (0600), and there is always one.",
    ),
    140: case(
        "an ephemeral server ends with its last session, unless told to stay",
        INSTANCES + "an_ephemeral_server_ends_with_its_last_session_and_its_keeper_with_it",
        INSTANCES + "an_ephemeral_server_that_is_told_to_stay_outlives_its_last_session",
        INSTANCES + "an_ephemeral_server_waits_for_its_first_session",
        differs="It ends two seconds after its last session and its last client: one that has just "
        "found it is served, and an MCP host whose only command ended keeps its server.",
    ),
    142: case(
        "a server lists itself first", SERVERS + "the_server_itself_stands_first_in_the_list"
    ),
    143: case(
        "servers are added once, by a proper address",
        SERVERS + "a_server_that_was_added_becomes_healthy_and_says_who_it_is",
        SERVERS + "what_is_no_address_of_a_server_is_refused",
    ),
    145: case(
        "a call names this server, another, an unknown or an unhealthy one",
        FORWARDING + "the_hub_may_be_named_as_any_server",
        FORWARDING + "no_operation_takes_another_server_for_this_one",
        SERVERS + "a_server_that_does_not_answer_is_unavailable_and_can_be_removed",
    ),
    146: case(
        "a session through the hub",
        FORWARDING + "a_session_made_through_the_hub_lives_on_the_node",
        FORWARDING + "the_list_has_the_sessions_of_every_server_and_says_whose",
    ),
    148: case(
        "a server that is this one is rejected",
        SERVERS + "a_server_that_is_this_one_is_rejected_for_good",
    ),
    149: case(
        "TLS and a prefix leave nothing beside them",
        NETWORK + "with_tls_everything_is_https_and_plain_http_gets_nothing",
    ),
}

NUMBERS = """
1 2 4 5 7 8 10 11 13 14 16 17 19 20 22 23 25 26 28 29 31 32 34 35 37 38 40 41 43 44 46 47 49 50 52 53
55 56 58 59 61 62 64 65 67 68 70 71 73 74 76 77 79 80 82 83 85 86 88 89 91 92 94 95 97 98 100 101 103
104 106 107 109 110 112 113 115 116 118 119 121 122 124 125 127 128 130 131 133 134 136 137 139 140
142 143 145 146 148 149
"""
"""Those that the contract published."""

PAGE = Path("docs/contract-cases.md")


def page() -> str:
    lines = [
        "# The published contract, case by case",
        "",
        "Written from `tests/published/cases.py`; a test holds it against the tests themselves.",
        f"{len(CASES)} cases, of which {sum(bool(each.differs) for each in CASES.values())} differ on purpose.",
        "",
        "## Where we differ",
        "",
        *(
            f"- **{number}**, {each.says}: {each.differs}"
            for number, each in CASES.items()
            if each.differs
        ),
        "",
        "## Which test shows which",
        "",
        "| case | | shown by |",
        "|---|---|---|",
        *(
            f"| {number} | {each.says} | {', '.join(f'`{_name(test)}`' for test in each.shown_by)} |"
            for number, each in CASES.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def _name(test: str) -> str:
    return test.partition("::")[2]


if __name__ == "__main__":
    sys.stdout.write(page())
