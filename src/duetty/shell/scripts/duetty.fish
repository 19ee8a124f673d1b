# Duetty: marks for fish 3.4 and later, read by --init-command, after the user's configuration.
#
# Where each mark comes from:
#   A  the events fish_prompt, fish_cancel and fish_posterror
#   B  the end of fish_prompt's text. fish draws the prompt later than it runs the function, so only
#      there; the user's function is put back while a command runs, for `funced` to find it.
#   C  the event fish_preexec, with the command line      D  the event fish_postexec
# A line that fish refuses stays on its command line: D without a code (fish_posterror), A, and B.
# fish asks for the rest of an incomplete line in place: there is no continuation prompt.
# It calls the functions of one event in the order in which they were defined: see the end.
# Builtins are named as such: a function of the same name would stand in for them.

set --erase --global _duetty_nonce
# A builtin of fish ignores <&9.
read --global --unexport _duetty_nonce 2>/dev/null </dev/fd/9

if status is-interactive; and test -n "$_duetty_nonce"

    function _duetty_preexec --on-event fish_preexec
        builtin set -l cmdline
        if builtin test (builtin string length -- "$argv[1]") -le 4096
            builtin set cmdline ';cmdline_url='(builtin string escape --style=url -- $argv[1])
        end
        builtin printf '\e]133;C;nonce=%s%s\a' $_duetty_nonce "$cmdline" >/dev/tty
        _duetty_unwrap
    end

    function _duetty_postexec --on-event fish_postexec
        builtin printf '\e]133;D;%s;nonce=%s;took=%s;cwd_url=%s\a' $status $_duetty_nonce "$CMD_DURATION" (builtin string escape --style=url -- $PWD) >/dev/tty
    end

    function _duetty_posterror --on-event fish_posterror
        builtin printf '\e]133;D;nonce=%s;cwd_url=%s\a\e]133;A;nonce=%s\a' $_duetty_nonce (builtin string escape --style=url -- $PWD) $_duetty_nonce >/dev/tty
    end

    function _duetty_prompt --on-event fish_prompt --on-event fish_cancel
        builtin printf '\e]133;A;nonce=%s\a' $_duetty_nonce >/dev/tty
        _duetty_wrap
    end

    # Let fish_prompt end with B. Its own text is made by a copy of the user's function.
    function _duetty_wrap
        builtin functions --query _duetty_fish_prompt; and return
        builtin functions --query fish_prompt; or return
        builtin functions --copy fish_prompt _duetty_fish_prompt
        function fish_prompt
            _duetty_fish_prompt
            builtin printf '\e]133;B;nonce=%s\a' $_duetty_nonce
        end
    end

    function _duetty_unwrap
        builtin functions --query _duetty_fish_prompt; or return
        builtin functions --erase fish_prompt
        builtin functions --copy _duetty_fish_prompt fish_prompt
        builtin functions --erase _duetty_fish_prompt
    end

    # fish 3 drops a Tab that is pasted.
    bind --mode paste \t >/dev/null 2>&1; or bind --mode paste \t 'commandline --insert \t'

    # Ctrl-C in the middle of a paste: fish 3 never saw its end, and would insert Enter and all else from then on.
    function _duetty_cancel_paste
        __fish_stop_bracketed_paste
        builtin commandline --function cancel-commandline
    end
    builtin bind --mode paste \cc >/dev/null 2>&1; or builtin bind --mode paste \cc _duetty_cancel_paste

    # The end of a command is announced before the user's own functions print anything: define those anew.
    for line in (functions --handlers-type generic)
        set -l name (string match --regex --groups-only '^fish_postexec (.*)$' -- $line); or continue
        test "$name" = _duetty_postexec; and continue
        functions -- $name | source
    end
end
