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
# Builtins are named as such: a function of the same name would stand in for them. What asks says yes
# by a variable: a function that is missing says nothing, and `if not` of it would be passed over.

set --erase --global _duetty_nonce
# A builtin of fish ignores <&9.
read --global --unexport _duetty_nonce 2>/dev/null </dev/fd/9
set --erase --global _duetty_gate
set --global --unexport _duetty_gate $_DUETTY_GATE
set --erase --global _DUETTY_GATE

if status is-interactive; and test -n "$_duetty_nonce"

    function _duetty_preexec --on-event fish_preexec
        builtin set -l line $argv[1]
        builtin test "$_duetty_added" = 1; and builtin set line (builtin string replace --regex -- ' $' '' $line | builtin string collect)
        builtin set --global _duetty_added 0
        builtin set -l cmdline (_duetty_told "$line")
        # A key that we do not know made another line of it than we asked about. No hook of fish can take
        # it back, and Ctrl-C would end this function and not the line: so fish is stopped while somebody
        # else asks, and ends, with what was typed ahead, unless the answer is yes.
        if builtin test -n "$_duetty_gate"; and builtin test (builtin string trim -- "$argv[1]" | builtin string collect) != "$_duetty_asked"
            builtin set --global _duetty_yes ''
            _duetty_passes
            if builtin test "$_duetty_yes" != yes
                builtin set -l id (builtin random)(builtin random)
                builtin printf '%s %s\n' $_duetty_nonce $id | command /bin/sh -c '
                    trap "" INT QUIT TSTP
                    read -r nonce id || exit 1
                    kill -STOP "$1" || exit 1
                    printf "\033]133;Q;nonce=%s;id=%s%s\a" "$nonce" "$id" "$3" >/dev/tty
                    for attempt in 1 2 3 4; do
                        { read -r answer <"$2"; } 2>/dev/null && break
                        [ -p "$2" ] || break
                    done
                    if [ "$answer" = "$nonce $id allow" ]; then kill -CONT "$1"; exit 0; fi
                    case $answer in
                        "$nonce $id deny "*) answer=${answer#"$nonce $id deny "} ;;
                        *) answer="duetty: nobody answered, so this line was not run" ;;
                    esac
                    printf "\r\n%s\r\nduetty: fish cannot take this line back, so this shell ends\r\n" "$answer" >/dev/tty
                    kill -KILL "$1"
                ' sh $fish_pid $_duetty_gate "$cmdline"; and builtin set --global _duetty_yes yes
            end
            if builtin test "$_duetty_yes" != yes
                command /bin/kill -KILL $fish_pid
                exec /bin/false
            end
        end
        builtin printf '\e]133;C;nonce=%s%s\a' $_duetty_nonce "$cmdline" >/dev/tty
        builtin set --global _duetty_running 1
        _duetty_unwrap
    end

    function _duetty_told
        if builtin test (builtin string length -- "$argv[1]") -le 4096
            builtin printf ';cmdline_url=%s' (builtin string escape --style=url -- $argv[1])
        end
    end

    function _duetty_postexec --on-event fish_postexec
        builtin printf '\e]133;D;%s;nonce=%s;took=%s;cwd_url=%s\a' $status $_duetty_nonce "$CMD_DURATION" (builtin string escape --style=url -- $PWD) >/dev/tty
    end

    function _duetty_posterror --on-event fish_posterror
        builtin printf '\e]133;D;nonce=%s;cwd_url=%s\a\e]133;A%s;nonce=%s\a' $_duetty_nonce (builtin string escape --style=url -- $PWD) (_duetty_gated) $_duetty_nonce >/dev/tty
    end

    function _duetty_prompt --on-event fish_prompt --on-event fish_cancel
        builtin set --global _duetty_running 0
        _duetty_bind
        builtin printf '\e]133;A%s;nonce=%s\a' (_duetty_gated) $_duetty_nonce >/dev/tty
        _duetty_wrap
    end

    # Each prompt tells whether all that asks is there, as it was made.
    function _duetty_gated
        if builtin test -n "$_duetty_gate"; and builtin test "$(_duetty_texts)" = "$_duetty_made"
            builtin printf ';gate=1'
        else
            builtin echo ''
        end
    end

    function _duetty_texts
        builtin functions -- _duetty_preexec _duetty_told _duetty_postexec _duetty_posterror _duetty_prompt
        builtin functions -- _duetty_gated _duetty_texts _duetty_passes _duetty_ask _duetty_abbr _duetty_expand _duetty_execute _duetty_bind _duetty_wrap _duetty_unwrap
    end

    # Say yes to every line, as long as no agent has typed.
    function _duetty_passes
        builtin set -l armed
        # fish itself complains of a file that is not there, and names it.
        builtin test -e "$_duetty_gate.armed"; and builtin read armed 2>/dev/null <$_duetty_gate.armed
        builtin test "$armed" = 2; and builtin set --global _duetty_yes yes
    end

    # Ask whether this text may run; the very answer sets _duetty_yes.
    function _duetty_ask
        builtin set -l id (builtin random)(builtin random)
        builtin printf '\e]133;Q;nonce=%s;id=%s%s\a' $_duetty_nonce $id (_duetty_told "$argv[1]") >/dev/tty
        builtin set -l answer
        # Who answered the question before may not have closed the FIFO yet: it then ends without an answer.
        for attempt in 1 2 3 4
            builtin read answer 2>/dev/null <$_duetty_gate; and break
            builtin test $status -eq 1; and builtin test -p "$_duetty_gate"; or break
        end
        if builtin test "$answer" = "$_duetty_nonce $id allow"
            builtin set --global _duetty_yes yes
            return 0
        end
        # What is no answer to this question is nobody's business: it may hold the nonce.
        builtin string match --quiet -- "$_duetty_nonce $id deny *" "$answer"; or builtin set answer ''
        builtin set answer (builtin string replace -- "$_duetty_nonce $id deny " '' "$answer")
        builtin test -n "$answer"; or builtin set answer 'duetty: nobody answered, so this line was not run'
        builtin printf '\r\n%s\r\n' "$answer" >/dev/tty
        return 1
    end

    # A function until fish 3.5.
    function _duetty_abbr
        if builtin --query abbr
            builtin abbr $argv
        else
            abbr $argv
        end
    end

    # Expand the abbreviation at the cursor, if it is a plain one.
    function _duetty_expand
        builtin set -l token (builtin commandline --current-token | builtin string collect)
        builtin test -n "$token"; or return
        builtin set -l name (builtin string escape --style=regex -- (builtin string escape -- $token))
        for kind in '-[Ug] ' '--position anywhere ' ''
            builtin set -l found (builtin string match --regex --groups-only -- "^abbr -a $kind-- $name (.*)\$" $argv); or continue
            if builtin test "$kind" != '--position anywhere '
                builtin test (builtin count (builtin commandline --current-process --cut-at-cursor --tokenize)) -eq 0; or continue
            end
            builtin eval "builtin set -l text $found[1]; builtin commandline --current-token --replace -- \$text"
            return
        end
    end

    # In place of `execute`. While a command runs it is `read` that has the keys, and what is typed there
    # is no line that runs, but perhaps a password.
    function _duetty_execute
        builtin set --global _duetty_yes ''
        builtin set -l text (builtin commandline --current-buffer | builtin string collect)
        builtin test "$_duetty_running" = 1; or builtin test -z "$text"; and builtin set --global _duetty_yes yes
        builtin test "$_duetty_yes" = yes; or _duetty_passes
        if builtin test "$_duetty_yes" = yes
            builtin set --global _duetty_asked (builtin string trim -- $text | builtin string collect)
            builtin commandline --function suppress-autosuggestion execute
            return
        end
        builtin commandline --is-valid
        builtin set -l valid $status
        # fish would expand an abbreviation at the cursor now, after the question. Plain ones are expanded
        # before it; and then the cursor leaves the word, so that no other is.
        builtin set -l abbreviations (_duetty_abbr --show)
        if builtin test (builtin count $abbreviations) -gt 0
            if builtin test $valid -eq 2
                builtin commandline --insert \n
                return
            end
            _duetty_expand $abbreviations
            builtin set text (builtin commandline --current-buffer | builtin string collect)
            builtin commandline --is-valid
            builtin set valid $status
        end
        if builtin test $valid -ne 0
            # Nothing that runs: fish says what is wrong with it, or waits for the rest.
            builtin commandline --function suppress-autosuggestion execute
            return
        end
        _duetty_ask $text
        if builtin test "$_duetty_yes" = yes
            builtin set --global _duetty_asked (builtin string trim -- $text | builtin string collect)
            if builtin test (builtin count $abbreviations) -gt 0
                builtin set --global _duetty_added 1
                builtin commandline --replace -- "$text "
                builtin commandline --cursor (builtin string length -- "$text ")
            end
            builtin commandline --function suppress-autosuggestion execute
            return
        end
        builtin commandline --replace ''
        _duetty_posterror
        builtin commandline --function repaint
    end

    # Take over every key that runs the line, in every mode.
    function _duetty_bind --on-variable fish_key_bindings
        builtin test -n "$_duetty_gate"; or return
        for line in (builtin bind --all 2>/dev/null)
            builtin string match --quiet --regex -- ' execute$' $line; or continue
            builtin set -l words (builtin string split ' ' -- $line)
            builtin set -l mode default
            builtin set -l at (builtin contains --index -- -M $words); and builtin set mode $words[(builtin math $at + 1)]
            # vi mode goes from normal to insert with it.
            builtin set -l after $mode
            builtin set -l at (builtin contains --index -- -m $words); and builtin set after $words[(builtin math $at + 1)]
            # By `eval`, which reads the key as `bind` wrote it: \n would not come out of a substitution.
            builtin eval "builtin bind --mode $mode --sets-mode $after $words[-2] _duetty_execute"
        end
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

    builtin set --global --unexport _duetty_made "$(_duetty_texts)"

    # fish 3 drops a Tab that is pasted.
    bind --mode paste \t >/dev/null 2>&1; or bind --mode paste \t 'commandline --insert \t'

    # The end of a command is told before the user's own functions print anything: define those anew.
    for line in (functions --handlers-type generic)
        set -l name (string match --regex --groups-only '^fish_postexec (.*)$' -- $line); or continue
        test "$name" = _duetty_postexec; and continue
        functions -- $name | source
    end
end
