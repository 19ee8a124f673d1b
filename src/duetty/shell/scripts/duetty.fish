# Duetty: marks for fish 3.4 and later, read by --init-command, after the user's configuration.
#
# Where each mark comes from:
#   A  the events fish_prompt, fish_cancel and fish_posterror
#   B  the end of fish_prompt's text. fish draws the prompt later than it runs the function, so only
#      there; the user's function is put back while a command runs, for `funced` to find it.
#   C  the event fish_preexec, with the command line      D  the event fish_postexec
# A line that fish refuses stays on its command line: D without a code (fish_posterror), A, and B.
#   Q  the key that runs the line, where there is a gate: nothing later can take a line back
# fish asks for the rest of an incomplete line in place: there is no continuation prompt.
# It calls the functions of one event in the order in which they were defined: see the end.

set --erase --global _duetty_nonce
# A builtin of fish ignores <&9.
read --global --unexport _duetty_nonce 2>/dev/null </dev/fd/9
set --erase --global _duetty_gate
set --global --unexport _duetty_gate $_DUETTY_GATE
set --erase --global _DUETTY_GATE

if status is-interactive; and test -n "$_duetty_nonce"

    function _duetty_preexec --on-event fish_preexec
        set -l cmdline
        if test (string length -- "$argv[1]") -le 4096
            set cmdline ';cmdline_url='(string escape --style=url -- $argv[1])
        end
        # An abbreviation that fish expanded after we asked, or a key that we do not know: another
        # line. No hook of fish can take it back, so this shell ends here, with what was typed ahead.
        if test -n "$_duetty_gate"; and test (string trim -- "$argv[1]" | string collect) != "$_duetty_asked"
            if not _duetty_ask $argv[1]
                printf 'duetty: fish cannot take this line back, so this shell ends\n' >/dev/tty
                kill -KILL $fish_pid
            end
        end
        printf '\e]133;C;nonce=%s%s\a' $_duetty_nonce "$cmdline" >/dev/tty
        set --global _duetty_running 1
        _duetty_unwrap
    end

    function _duetty_postexec --on-event fish_postexec
        printf '\e]133;D;%s;nonce=%s;took=%s;cwd_url=%s\a' $status $_duetty_nonce "$CMD_DURATION" (string escape --style=url -- $PWD) >/dev/tty
    end

    function _duetty_posterror --on-event fish_posterror
        printf '\e]133;D;nonce=%s;cwd_url=%s\a\e]133;A%s;nonce=%s\a' $_duetty_nonce (string escape --style=url -- $PWD) (_duetty_gated) $_duetty_nonce >/dev/tty
    end

    function _duetty_prompt --on-event fish_prompt --on-event fish_cancel
        set --global _duetty_running 0
        _duetty_bind
        printf '\e]133;A%s;nonce=%s\a' (_duetty_gated) $_duetty_nonce >/dev/tty
        _duetty_wrap
    end

    # Each prompt tells whether the hooks that ask are in place.
    function _duetty_gated
        if test -n "$_duetty_gate"; and functions --query _duetty_execute _duetty_preexec
            echo ';gate=1'
        else
            echo ''
        end
    end

    # Ask whether this text may run.
    function _duetty_ask
        set -l armed
        # fish itself complains of a file that is not there, and names it.
        test -e "$_duetty_gate.armed"; and read armed 2>/dev/null <$_duetty_gate.armed
        test "$armed" = 2; and return 0
        set -l id (random)(random)
        set -l cmdline
        if test (string length -- "$argv[1]") -le 4096
            set cmdline ';cmdline_url='(string escape --style=url -- $argv[1])
        end
        printf '\e]133;Q;nonce=%s;id=%s%s\a' $_duetty_nonce $id "$cmdline" >/dev/tty
        set -l answer
        # Who answered the question before may not have closed the FIFO yet: it then ends without an answer.
        for attempt in 1 2 3 4
            read answer 2>/dev/null <$_duetty_gate; and break
            test $status -eq 1; and test -p "$_duetty_gate"; or break
        end
        test "$answer" = "$_duetty_nonce $id allow"; and return 0
        # What is no answer to this question is nobody's business: it may hold the nonce.
        string match --quiet -- "$_duetty_nonce $id deny *" "$answer"; or set answer ''
        set answer (string replace -- "$_duetty_nonce $id deny " '' "$answer")
        test -n "$answer"; or set answer 'duetty: nobody answered, so this line was not run'
        printf '\r\n%s\r\n' "$answer" >/dev/tty
        return 1
    end

    # In place of `execute`. While a command runs it is `read` that has the keys, and what is typed there
    # is no line that runs, but perhaps a password.
    function _duetty_execute
        if test "$_duetty_running" = 1
            commandline --function execute
            return
        end
        set -l text (commandline --current-buffer | string collect)
        if test -n "$text"; and commandline --is-valid
            if not _duetty_ask $text
                commandline --replace ''
                _duetty_posterror
                commandline --function repaint
                return
            end
            set --global _duetty_asked (string trim -- $text | string collect)
        end
        commandline --function suppress-autosuggestion
        commandline --function execute
    end

    # Take over every key that runs the line, in every mode.
    function _duetty_bind --on-variable fish_key_bindings
        test -n "$_duetty_gate"; or return
        for line in (bind --all 2>/dev/null)
            string match --quiet --regex -- ' execute$' $line; or continue
            set -l words (string split ' ' -- $line)
            set -l mode default
            set -l at (contains --index -- -M $words); and set mode $words[(math $at + 1)]
            # vi mode goes from normal to insert with it.
            set -l after $mode
            set -l at (contains --index -- -m $words); and set after $words[(math $at + 1)]
            # By `eval`, which reads the key as `bind` wrote it: \n would not come out of a substitution.
            eval "bind --mode $mode --sets-mode $after $words[-2] _duetty_execute"
        end
    end

    # Let fish_prompt end with B. Its own text is made by a copy of the user's function.
    function _duetty_wrap
        functions --query _duetty_fish_prompt; and return
        functions --query fish_prompt; or return
        functions --copy fish_prompt _duetty_fish_prompt
        function fish_prompt
            _duetty_fish_prompt
            printf '\e]133;B;nonce=%s\a' $_duetty_nonce
        end
    end

    function _duetty_unwrap
        functions --query _duetty_fish_prompt; or return
        functions --erase fish_prompt
        functions --copy _duetty_fish_prompt fish_prompt
        functions --erase _duetty_fish_prompt
    end

    # fish 3 drops a Tab that is pasted.
    bind --mode paste \t >/dev/null 2>&1; or bind --mode paste \t 'commandline --insert \t'

    # The end of a command is told before the user's own functions print anything: define those anew.
    for line in (functions --handlers-type generic)
        set -l name (string match --regex --groups-only '^fish_postexec (.*)$' -- $line); or continue
        test "$name" = _duetty_postexec; and continue
        functions -- $name | source
    end
end
