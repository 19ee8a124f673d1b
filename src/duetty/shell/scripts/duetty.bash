# Duetty: marks for bash 5.1 and later.
#
# Read in one of three ways:
#   bash -i   as --rcfile: bash has read its system-wide file, ~/.bashrc is read here
#   bash -l   as $ENV of `bash --posix -l`: posix mode is left at once, the profile files are read here
#   sh        by duetty.sh, as $ENV of bash under the name sh: the user's $ENV file is read here
#
# Where each mark comes from:
#   D  _duetty_head, the first element of PROMPT_COMMAND
#   A  _duetty_last, the last one; PS1 if that did not run: readline draws PS1 more than once
#   B  PS1, after the user's text
#   C  PS0, after the user's text
#   Q  PS0 too, where there is a gate: bash waits there, and is sent SIGINT if the line may not run
# All are built-in: nothing here forks, except Q, the second and later commands of one paste, which
# no prompt ends (a subshell in PS0 tells D of the one before), and what the user's own files do.
#
# PROMPT_COMMAND may be reassigned and PS1 rewritten at any time, by any element:
#   - the user's last element is run from inside _duetty_last, which marks PS1 after it.
#     Inside, because a command of ours after the user's would trip DEBUG traps (timers, bash-preexec).
#   - PS0 puts _duetty_last back if it is gone, and PS1 says D if _duetty_head did not.
#   - a PROMPT_COMMAND that is unset and made readonly cannot be put back, and who then takes PS0 too takes
#     C: PS1 sees by the command number that a line ran, and says D.
# PS0 and PS1 only name variables, so an exported PS1 takes no nonce with it.

# Ctrl-C ends what the user's files run, and not this: without it the shell would ask nobody.
builtin trap : INT
builtin unset -v _duetty_nonce _duetty_scratch _duetty_gate
IFS= builtin read -r _duetty_nonce 2>/dev/null <&9
exec 9<&-
builtin declare +x _duetty_nonce
_duetty_scratch=${_DUETTY_SCRATCH-}
builtin declare +x _duetty_scratch
_duetty_gate=${_DUETTY_GATE-}
builtin declare +x _duetty_gate

if [[ ${_duetty_entry-} == sh ]]; then
    :
elif [[ -o posix ]]; then
    _duetty_entry=login
    builtin set +o posix
    [[ ${HISTFILE-} == ~/.sh_history ]] && HISTFILE=~/.bash_history
else
    _duetty_entry=rc
fi
if [[ $_duetty_entry != rc ]]; then
    if [[ -n ${_DUETTY_ENV+set} ]]; then
        builtin export ENV="$_DUETTY_ENV"
    else
        builtin unset -v ENV
    fi
fi
builtin unset -v _DUETTY_ENV _DUETTY_SCRATCH _DUETTY_GATE

# An alias must not end up inside our functions.
_duetty_alias=0
builtin shopt -q expand_aliases && _duetty_alias=1
builtin shopt -u expand_aliases

# End the line that ran, or was refused, since the last prompt. $1: its exit code.
_duetty_done() {
    if ((_duetty_ran)) || { [[ -n $_duetty_histcmd ]] && ((HISTCMD > _duetty_histcmd)); }; then
        # A line that runs nothing may follow in the same paste: PS0 has noted where this one was.
        _duetty_end "$1" "$((_duetty_ran * (HISTCMD - _duetty_here)))"
        _duetty_ran=0
        [[ -z $_duetty_control$_duetty_ignore ]] || _duetty_sift "$_duetty_text" "$_duetty_saved"
    fi
}

# Say D. $1: the exit code; $2: how many lines history has that are newer than the one that ends.
_duetty_end() {
    local now=${EPOCHREALTIME-} cmdline=
    _duetty_line "$2" && cmdline=";cmdline=${_duetty_text@Q}"
    builtin printf '\e]133;D;%s;nonce=%s;t=%s%s;cwd=%s\a' \
        "$1" "$_duetty_nonce" "$now" "$cmdline" "${PWD@Q}" >/dev/tty
}

# Run "$@" and leave what it prints in the scratch file, with a NUL behind it. Over what was there:
# to empty a file first takes a disk's file system ten times as long as all the rest.
_duetty_noted() {
    { "$@" && builtin printf '\0'; } 1<>"$_duetty_scratch"
}

# Put the text of that line into _duetty_text, or fail: history may not have it
# (HISTCONTROL, HISTIGNORE), and then its newest entry is another line.
# By way of a file, because only a file can be read back without a fork. $1: as $2 above.
_duetty_line() {
    [[ -w $_duetty_scratch && -o history ]] || return 1
    local HISTTIMEFORMAT= IFS= text= newer= number= before=$_duetty_text
    _duetty_noted builtin history "$(($1 + 1))" || return 1
    builtin read -r -d '' -n "$((4200 * ($1 + 1)))" text <"$_duetty_scratch"
    if (($1 > 0)); then
        _duetty_noted builtin history "$1" || return 1
        builtin read -r -d '' newer <"$_duetty_scratch"
        text=${text%"$newer"}
    fi
    text=${text#"${text%%[! ]*}"}
    number=${text%%[!0-9]*}
    text=${text#"$number"}
    text=${text:2}
    _duetty_text=${text%$'\n'}
    [[ -n $number ]] && ((${#_duetty_text} <= 4096)) || return 1
    [[ -n $_duetty_histcmd ]] && ((HISTCMD - $1 > _duetty_histcmd)) && return 0
    (($1 == 0)) || return 1
    # Another text than before is a new line.
    [[ $_duetty_text != "$before" && -n $before ]] && return 0
    [[ $_duetty_text == "$before" ]] || return 1
    [[ -n $before && -z ${HISTIGNORE-} && :${HISTCONTROL-}: != *:ignore@(space|both):* ]]
}

# Within PS0, in a subshell: another command of the same paste is about to run, and no prompt came
# between. Say D of the one before, and C with the text of this one.
_duetty_between() {
    builtin set +aeuvxET
    builtin trap - DEBUG ERR EXIT RETURN
    _duetty_ended
    local cmdline=
    _duetty_line 0 && cmdline=";cmdline=${_duetty_text@Q}"
    _duetty_begun
}

# Say C, within PS0.
_duetty_begun() {
    builtin printf '\e]133;C;t=%s;nonce=%s%s\a' "${EPOCHREALTIME-}" "$_duetty_nonce" "$cmdline"
}

# PS0 has put into _duetty_histcmd where the one before was, and into _duetty_was where that began.
_duetty_ended() {
    local here=$_duetty_histcmd
    local _duetty_histcmd=$_duetty_was
    _duetty_end "$_duetty_code" "$((HISTCMD - here))"
}

# A question is asked in three steps of PS0, because what waits for the answer must not be a subshell:
# that one dies of signals that an interactive bash ignores (Ctrl-\), and the line would run unanswered.
#   _duetty_ask     in a subshell: says Q, and prints what C will say of the line
#   $(<gate)        in bash itself: waits for the answer, whatever comes
#   _duetty_refuse  in a subshell, if that is no yes: SIGINT while PS0 is expanded takes the whole line
#                   back. Should it be killed, bash waits at the gate once more, until Ctrl-C.
#   _duetty_fall    if nothing of that could even be started (a shell without descriptors): an expansion
#                   without an end, of which bash dies. No error in PS0 would stop the line.
#
# What is asked about is the text that history has of the line. Only where it has each line, whole: see
# _duetty_keep. And only in variables that no line has given an attribute: `declare -u` would change it.
# Of a line in several lines history drops empty ones, and joins what a backslash ends, in a comment too;
# and between comments it may be another line. So it is told in how many lines it was read (`lines`: PS2 is
# expanded before each but the first), and whether the text is surely of this one: the rest the server
# knows by what was typed.
_duetty_ask() {
    builtin set +aeuvxET
    builtin trap - DEBUG ERR EXIT RETURN
    builtin shopt -u localvar_inherit
    # In a subshell of its own: it ends where a line has made a variable of ours readonly.
    ((_duetty_ran)) && (_duetty_ended)
    builtin set --
    if _duetty_newest; then
        # It may go on with what history leaves out.
        local slashes=${_duetty_text##*[!\\]}
        ((${#slashes} % 2)) || builtin set -- ";sure=$_duetty_sure;lines=$_duetty_lines$_duetty_cut;cmdline=${_duetty_text@Q}"
    fi
    _duetty_question "${1-}"
    [[ ${_duetty_sure-0} != 1 ]] || builtin printf %s "${1-}"
}

# Put the text of the line that is about to run into _duetty_text, or fail. In a subshell.
_duetty_newest() {
    builtin unset -v _duetty_text _duetty_sure _duetty_cut number HISTTIMEFORMAT IFS slashes || return 1
    [[ -w $_duetty_scratch && -o history && -z ${HISTTIMEFORMAT+set} ]] || return 1
    # Without it nobody counts the lines; and what was typed tells little of where other signs are history's.
    [[ ${PS2-} == "$_duetty_ps2_before"* ]] || return 1
    [[ $_duetty_lines == 1 || ${histchars-} == '!^#' ]] || return 1
    builtin shopt -q cmdhist && builtin shopt -q lithist || return 1
    _duetty_noted builtin history 1 || return 1
    IFS= builtin read -r -d '' -n 4200 _duetty_text <"$_duetty_scratch"
    _duetty_text=${_duetty_text#"${_duetty_text%%[! ]*}"}
    local number=${_duetty_text%%[!0-9]*}
    [[ -n $number && ${_duetty_text:${#number}:2} == [' *']' ' ]] || return 1
    # It is surely this line if it has the number that the last prompt, or line, left to it; a comment
    # that was read meanwhile has one of its own.
    _duetty_sure=0
    [[ -n $_duetty_histcmd ]] || return 1
    [[ $number != "$_duetty_histcmd" ]] || _duetty_sure=1
    _duetty_text=${_duetty_text:${#number}+2}
    _duetty_text=${_duetty_text%$'\n'}
    _duetty_text=${_duetty_text%$'\n'} # a here-document ends with one
    _duetty_cut=
    ((${#_duetty_text} <= 4096)) || _duetty_cut=';cut=1' _duetty_text=${_duetty_text:0:4096}
}

# $1: the line, as the mark tells it.
_duetty_question() {
    builtin printf '\e]133;Q;nonce=%s;id=%s%s\a' "$_duetty_nonce" "$_duetty_id" "$1" >/dev/tty
}

# Have history keep each line, whole: without `lithist` it leaves out what looks like a comment in the
# middle of a line, and HISTCONTROL and HISTIGNORE leave out whole lines. What these would have left out
# goes at the next prompt.
_duetty_keep() {
    builtin shopt -s cmdhist lithist
    if [[ -n ${HISTCONTROL-} && ${HISTCONTROL@a} != *r* ]]; then
        _duetty_control=:$HISTCONTROL:
        HISTCONTROL=
    fi
    if [[ -n ${HISTIGNORE-} && ${HISTIGNORE@a} != *r* ]]; then
        _duetty_ignore=$HISTIGNORE
        HISTIGNORE=
    fi
}

# $1: the newest line of history, which has ended; $2: the one that was kept before.
_duetty_sift() {
    local pattern IFS=:
    local -a patterns=($_duetty_ignore)
    if [[ $1 == ' '* && $_duetty_control == *:ignore@(space|both):* ]]; then
        builtin history -d -1
    elif [[ $1 == "$2" && $_duetty_control == *:ignore@(dups|both):* ]]; then
        builtin history -d -1
    else
        for pattern in "${patterns[@]}"; do
            if [[ $1 == ${pattern//&/"$2"} ]]; then
                builtin history -d -1
                return
            fi
        done
        _duetty_saved=$1
    fi
}

# Whether a trap would run in the middle of PS0: bash loses its way there, and the line would run unasked.
# Traps of what is no signal, and of SIGINT (see _duetty_refuse), do not.
_duetty_is_trapped() {
    local traps= IFS=
    _duetty_noted builtin trap -p "${_duetty_signals[@]}" || return 0
    builtin read -r -d '' -n 4096 traps <"$_duetty_scratch"
    # What is only ignored runs nothing.
    while [[ $traps == "trap -- '' "* ]]; do traps=${traps#*$'\n'}; done
    [[ -n $traps ]]
}

_duetty_refuse() {
    builtin set +aeuvxET
    local trapped=
    # Here, before this subshell changes any trap of its own, the shell's are still told.
    if [[ -w $_duetty_scratch ]]; then
        _duetty_noted builtin trap -p INT
        IFS= builtin read -r -d '' -n 20 trapped <"$_duetty_scratch"
    fi
    builtin trap - DEBUG ERR EXIT RETURN
    _duetty_why "${_duetty_said[_duetty_asked]#x}"
    # A shell that does not heed SIGINT would run the line after all: it ends here.
    if [[ -n $trapped ]]; then
        builtin printf 'duetty: it traps SIGINT, so this shell ends\n' >/dev/tty
        _duetty_signal KILL
    fi
    _duetty_signal INT
}

# What is no answer to this question is nobody's business: it may hold the nonce.
_duetty_why() {
    local why=${1#"$_duetty_nonce $_duetty_id deny "}
    [[ $why != "$1" ]] || why=
    builtin printf '%s\n' "${why:-duetty: nobody answered, so this line was not run}" >/dev/tty
}

_duetty_signal() {
    builtin kill "-$1" $$ 2>/dev/null || command kill "-$1" $$ 2>/dev/null || /bin/kill "-$1" $$
}

# Ctrl-X Ctrl-E (and `v` in vi mode) runs what an editor leaves, by a plain `fc` and without PS0: this
# function is what it finds. Within a line too, where its name may have been computed: what it runs is
# asked about nowhere else.
_duetty_fc() {
    local armed=0 answer= cmdline= option lists=0
    for option; do
        case $option in
        -[0-9]*) ;;
        -*[!lnr]*)
            lists=0
            break
            ;;
        -*l*) lists=1 ;;
        esac
    done
    [[ -r $_duetty_gate.armed ]] && armed=$(<"$_duetty_gate.armed")
    if ((!lists && (_duetty_asked || armed != 2))); then
        _duetty_id=$SRANDOM
        cmdline="fc $*"
        _duetty_question ";cmdline=${cmdline@Q}"
        IFS= builtin read -r answer 2>/dev/null <"$_duetty_gate"
        if [[ $answer != "$_duetty_nonce $_duetty_id allow" ]]; then
            _duetty_why "$answer"
            return 1
        fi
    fi
    builtin fc "$@"
}

# Put the marks around PS1 and PS2 and behind PS0, if something took them away.
_duetty_wrap() {
    if ! builtin shopt -q promptvars; then
        _duetty_unwrap
        return
    fi
    if [[ -n ${PS1+set} && $PS1 != "$_duetty_ps1_before"*"$_duetty_ps1_after" ]]; then
        PS1=${PS1//"$_duetty_ps1_before"/}
        PS1=$_duetty_ps1_before${PS1//"$_duetty_ps1_after"/}$_duetty_ps1_after
    fi
    if [[ -n ${PS2+set} && $PS2 != "$_duetty_ps2_before"*"$_duetty_ps2_after" && ${PS2@a} != *r* ]]; then
        PS2=${PS2//"$_duetty_ps2_before"/}
        PS2=$_duetty_ps2_before${PS2//"$_duetty_ps2_after"/}$_duetty_ps2_after
    fi
    if [[ ${PS0-} != *"$_duetty_ps0_after" && ${PS0@a} != *r* ]]; then
        PS0=${PS0-}
        PS0=${PS0//"$_duetty_ps0_after"/}$_duetty_ps0_after
    fi
}

# Without `promptvars` the marks would be shown as text: go without.
_duetty_unwrap() {
    [[ -n ${PS1+set} ]] && PS1=${PS1//"$_duetty_ps1_before"/} && PS1=${PS1//"$_duetty_ps1_after"/}
    [[ -n ${PS2+set} && ${PS2@a} != *r* ]] && PS2=${PS2//"$_duetty_ps2_before"/} && PS2=${PS2//"$_duetty_ps2_after"/}
    [[ -n ${PS0+set} && ${PS0@a} != *r* ]] && PS0=${PS0//"$_duetty_ps0_after"/}
}

# Put our two elements around the user's, the last of which moves into _duetty_last.
_duetty_arrange() {
    local key element replaced=0
    local -a list=()
    # PROMPT_COMMAND=x, by an element that just ran: x comes in place of the user's first element,
    # which is behind ours, or inside _duetty_last if there is only one.
    [[ $_duetty_fresh == 1 && ${PROMPT_COMMAND[99]-} == _duetty_last \
        && ${PROMPT_COMMAND[0]-} != *_duetty_head* ]] && replaced=1
    for key in "${!PROMPT_COMMAND[@]}"; do
        element=${PROMPT_COMMAND[key]}
        if [[ $element == _duetty_last ]]; then
            # Said by a line instead, it meant all of them.
            element=
            ((_duetty_fresh && !replaced)) && element=${_duetty_kept[1]}
        elif ((replaced && key)); then
            replaced=0
            continue
        fi
        element=${element//_duetty_head/:}
        element=${element//_duetty_last/:}
        [[ -z $element || $element == : ]] || list+=("$element")
    done
    key=${#list[@]}
    _duetty_kept[1]=
    ((key)) && _duetty_kept[1]=${list[key - 1]} && builtin unset "list[key - 1]"
    PROMPT_COMMAND=(_duetty_head "${list[@]}" [99]=_duetty_last)
}

_duetty_head() {
    local code=$? -
    [[ $- != *[vx]* ]] || { builtin set +vx; } 2>/dev/null
    builtin set +aeuET
    _duetty_drawn=0 _duetty_cmd=() _duetty_said=() _duetty_left=()
    if [[ ${PROMPT_COMMAND[0]-} == _duetty_head ]]; then
        _duetty_done "$code"
        _duetty_fresh=1
    else
        # PROMPT_COMMAND="x;$PROMPT_COMMAND": the code is that of x. The next element sees the right one.
        _duetty_kept[2]='_duetty_code=$?'$'\n'${_duetty_kept[1]}
        _duetty_fresh=2
    fi
    _duetty_wrap
    return 0
}

_duetty_last() {
    # First of all: here `$?`, PIPESTATUS and `$_` are still what the user's element expects.
    builtin eval "${_duetty_kept[_duetty_fresh]}"
    local -
    [[ $- != *[vx]* ]] || { builtin set +vx; } 2>/dev/null
    builtin set +aeuET
    ((_duetty_fresh == 1)) || _duetty_done "$_duetty_code"
    local -a keys=("${!PROMPT_COMMAND[@]}")
    [[ ${PROMPT_COMMAND[0]-} == _duetty_head && ${PROMPT_COMMAND[99]-} == _duetty_last \
        && ${keys[-1]} == 99 ]] || _duetty_arrange
    _duetty_wrap
    _duetty_fresh=0
    [[ -z $_duetty_gate ]] || _duetty_keep
    _duetty_histcmd=$HISTCMD _duetty_further=0
    # Where there is a gate, each prompt tells whether it is in place.
    if [[ -n $_duetty_gate && ${PS0-} == *"$_duetty_ps0_after" ]] && builtin shopt -q promptvars \
        && ! _duetty_is_trapped; then
        builtin printf '\e]133;A;gate=1;nonce=%s\a' "$_duetty_nonce" >/dev/tty
    else
        builtin printf %s "$_duetty_begin" >/dev/tty
    fi
    _duetty_drawn=1
}

_duetty_install() {
    local - end=";nonce=$_duetty_nonce"$'\a'
    builtin set +aeuvxET
    _duetty_ran=0 _duetty_fresh=0 _duetty_drawn=0 _duetty_code=0 _duetty_how=0 _duetty_histcmd= _duetty_was= _duetty_here=0 _duetty_text= _duetty_nil= _duetty_space=' ' _duetty_asked=0 _duetty_id=0 _duetty_lines=0 _duetty_further=0
    _duetty_cmd=() _duetty_said=() _duetty_left=()
    _duetty_kept=('_duetty_code=$?' '')
    _duetty_control= _duetty_ignore= _duetty_saved= _duetty_signals=(1 {3..8} {10..18} {20..31} {34..64})
    [[ -z $_duetty_scratch ]] || : >>"$_duetty_scratch"
    _duetty_late=('' $'\e]133;D;$?;t=${EPOCHREALTIME-};cwd=${PWD@Q}'"$end")
    _duetty_begin=($'\e]133;A'"$end" '')
    # bash expands PS1 without showing it between the commands of a paste: the line is not over for
    # PS1 while _duetty_last is there to end it.
    # No `!` here: posix mode makes the number in history of it.
    _duetty_count='\#' _duetty_seen=0
    _duetty_start='${_duetty_late[_duetty_ran||0${PROMPT_COMMAND[99]:+1}<1&&${_duetty_count@P}>_duetty_seen]@P}'
    _duetty_start+='${_duetty_space:_duetty_ran*=0${PROMPT_COMMAND[99]:+1},_duetty_seen=${_duetty_count@P},0:0}'
    _duetty_start+='${_duetty_begin[_duetty_drawn]}'
    _duetty_input=$'\e]133;B'$end
    _duetty_more=$'\e]133;A;k=s'$end
    _duetty_more_input=$'\e]133;B;k=s'$end
    # First of all `$?`, which belongs to the one before: what is expanded here may change it. Then
    # where history is, and what there is to tell: nothing, the end of the one before, or a question.
    local armed=2
    if [[ -n $_duetty_gate ]]; then
        # Without a fork since bash 5.2; a file that is not there asks.
        armed='0$(<"$_duetty_gate.armed")'
        [[ -e $_duetty_gate.armed ]] || armed=0
        builtin declare -F fc >/dev/null || fc() { _duetty_fc "$@"; }
    fi
    _duetty_fall='${_duetty_fall@P}'
    # Which question it is, nobody can know before it is asked: an answer cannot lie ready for it.
    # A fresh place in each array for every question: an expansion can fill one, but not empty it. The `x`
    # tells an answer from none. `${_duetty_space#[ "…"]}` is a way to expand something and show nothing.
    local ask='${_duetty_space#[ "${_duetty_cmd[_duetty_asked]:=x$(_duetty_ask)}"]}'
    ask+='${_duetty_space#[ "${_duetty_said[_duetty_asked]:=x$(<"$_duetty_gate")}"]}'
    ask+='${_duetty_space#[ "${_duetty_left[_duetty_asked]:=${_duetty_said[_duetty_asked]#"x$_duetty_nonce $_duetty_id allow"}}"]}'
    ask+='${_duetty_left[_duetty_asked]:+$(_duetty_refuse)${_duetty_space#[ "$(<"$_duetty_gate")$(<"$_duetty_gate")"]}${_duetty_fall@P}}'
    ask+=$'\e]133;C;t=${EPOCHREALTIME-};nonce='"$_duetty_nonce"$'${_duetty_cmd[_duetty_asked]#x}\a'
    _duetty_tell=($'\e]133;C;t=${EPOCHREALTIME-}'"$end" '$(_duetty_between)' "$ask")
    _duetty_output='${_duetty_nil[_duetty_code=$?,_duetty_how=2-(_duetty_asked<1&&'$armed'==2)*(2-_duetty_ran),_duetty_asked+=_duetty_how/2,_duetty_id=SRANDOM,_duetty_ran&&(_duetty_was=_duetty_histcmd,_duetty_histcmd=_duetty_here),_duetty_here=${HISTCMD-0},_duetty_lines=_duetty_further+1,_duetty_further=0,0]}'
    _duetty_output+='${_duetty_tell[_duetty_how]@P}${_duetty_space:_duetty_ran=1,_duetty_drawn=0:0}'
    _duetty_ps1_before='\[${_duetty_start+${_duetty_start@P}}\]'
    _duetty_ps1_after='\[${_duetty_input-}\]'
    _duetty_ps2_before='\[${_duetty_more+$_duetty_more${_duetty_space:_duetty_further+=1,0:0}}\]'
    _duetty_ps2_after='\[${_duetty_more_input-}\]'
    _duetty_ps0_after='${_duetty_output+${_duetty_output@P}}'
    # Hardened systems make it readonly: then D comes with the prompt.
    if [[ ${PROMPT_COMMAND@a} != *r* ]]; then
        # An assignment that fails would end the whole prompt there: its attributes name the variable that
        # says whether to try.
        _duetty_put=('${_duetty_nil#"${PROMPT_COMMAND[99]:=_duetty_last}"}' '')
        _duetty_fixed_=0 _duetty_fixed_a=0 _duetty_fixed_x=0 _duetty_fixed_ax=0
        _duetty_fixed_r=1 _duetty_fixed_ar=1 _duetty_fixed_rx=1 _duetty_fixed_arx=1
        _duetty_output+='${_duetty_put[_duetty_fixed_${PROMPT_COMMAND@a}]@P}'
        _duetty_start+='${_duetty_put[_duetty_fixed_${PROMPT_COMMAND@a}]@P}'
        _duetty_arrange
    fi
    [[ -z $_duetty_gate ]] || : "${PS2=}" "${histchars=!^#}"
    _duetty_wrap
    # What a line could take away by accident, or on purpose, stays.
    builtin readonly _duetty_input _duetty_more _duetty_ps2_before _duetty_nonce _duetty_scratch _duetty_gate _duetty_tell _duetty_output _duetty_ps0_after _duetty_nil _duetty_space _duetty_signals
    # `unset HISTCMD` would make an ordinary variable of it, and what a line puts there instead is code to
    # arithmetic. Between the commands of one paste there is no prompt at which PS0 or PS2 could be put back.
    [[ -z $_duetty_gate ]] || builtin readonly HISTCMD SRANDOM histchars _duetty_fall
    [[ -z $_duetty_gate || ${PS0-} != *"$_duetty_ps0_after" ]] || builtin readonly PS0
    [[ -z $_duetty_gate || ${PS2-} != "$_duetty_ps2_before"* ]] || builtin readonly PS2
    builtin readonly -f _duetty_ask _duetty_newest _duetty_question _duetty_refuse _duetty_why _duetty_signal _duetty_fc
    [[ $(builtin declare -f fc) != *_duetty_fc* ]] || builtin readonly -f fc
}

((_duetty_alias)) && builtin shopt -s expand_aliases
builtin unset -v _duetty_alias

case $_duetty_entry in
rc)
    if [[ -r ~/.bashrc ]]; then . ~/.bashrc; fi
    ;;
login)
    if [[ -r /etc/profile ]]; then . /etc/profile; fi
    if [[ -r ~/.bash_profile ]]; then
        . ~/.bash_profile
    elif [[ -r ~/.bash_login ]]; then
        . ~/.bash_login
    elif [[ -r ~/.profile ]]; then
        . ~/.profile
    fi
    ;;
sh)
    # As bash would have read it: the value is expanded first.
    builtin eval "_duetty_entry=\"${ENV-}\""
    if [[ -r $_duetty_entry ]]; then . "$_duetty_entry"; fi
    ;;
esac
builtin unset -v _duetty_entry

if [[ $(builtin trap -p INT) == "trap -- ':' "?(SIG)INT ]]; then builtin trap - INT; fi
if [[ -n ${_duetty_nonce-} ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
    _duetty_install
fi
builtin unset -f _duetty_install
