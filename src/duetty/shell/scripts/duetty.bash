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
# All are built-in: nothing here forks, except the second and later commands of one paste, which
# no prompt ends (a subshell in PS0 tells D of the one before), and what the user's own files do.
#
# A run's line is exact text. Before a line that history expansion could change, the server presses
# a key of ours (see `shell/exact.py`), which switches the expansion off until the next prompt.
#
# PROMPT_COMMAND may be reassigned and PS1 rewritten at any time, by any element:
#   - the user's last element is run from inside _duetty_last, which marks PS1 after it.
#     Inside, because a command of ours after the user's would trip DEBUG traps (timers, bash-preexec).
#   - PS0 puts _duetty_last back if it is gone, and PS1 says D if _duetty_head did not.
#   - a PROMPT_COMMAND that is unset and made readonly cannot be put back, and who then takes PS0 too takes
#     C: PS1 sees by the command number that a line ran, and says D.
# PS0 and PS1 only name variables, so an exported PS1 takes no nonce with it.

builtin unset -v _duetty_nonce _duetty_scratch
IFS= builtin read -r _duetty_nonce 2>/dev/null <&9
exec 9<&-
builtin declare +x _duetty_nonce
_duetty_scratch=${_DUETTY_SCRATCH-}
builtin declare +x _duetty_scratch

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
builtin unset -v _DUETTY_ENV _DUETTY_SCRATCH

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
    builtin printf '\e]133;C;t=%s;nonce=%s%s\a' "${EPOCHREALTIME-}" "$_duetty_nonce" "$cmdline"
}

# PS0 has put into _duetty_histcmd where the one before was, and into _duetty_was where that began.
_duetty_ended() {
    local here=$_duetty_histcmd
    local _duetty_histcmd=$_duetty_was
    _duetty_end "$_duetty_code" "$((HISTCMD - here))"
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
    if [[ -n ${PS2+set} && $PS2 != "$_duetty_ps2_before"*"$_duetty_ps2_after" ]]; then
        PS2=${PS2//"$_duetty_ps2_before"/}
        PS2=$_duetty_ps2_before${PS2//"$_duetty_ps2_after"/}$_duetty_ps2_after
    fi
    if [[ ${PS0-} != *"$_duetty_ps0_after" ]]; then
        PS0=${PS0-}
        PS0=${PS0//"$_duetty_ps0_after"/}$_duetty_ps0_after
    fi
}

# Without `promptvars` the marks would be shown as text: go without.
_duetty_unwrap() {
    [[ -n ${PS1+set} ]] && PS1=${PS1//"$_duetty_ps1_before"/} && PS1=${PS1//"$_duetty_ps1_after"/}
    [[ -n ${PS2+set} ]] && PS2=${PS2//"$_duetty_ps2_before"/} && PS2=${PS2//"$_duetty_ps2_after"/}
    [[ -n ${PS0+set} ]] && PS0=${PS0//"$_duetty_ps0_after"/}
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
            # In a line that the user typed, it would mean all of them.
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

# The key that a run presses before a line that history expansion could change.
_duetty_exactly() {
    { [[ ! -o histexpand ]] || { builtin set +H && _duetty_exact=1; }; } 2>/dev/null
}

_duetty_head() {
    # Before `local -`, which would take it back. Without a trace: it is nothing that the user runs.
    { local code=$?; ((!_duetty_exact)) || { builtin set -H && _duetty_exact=0; }; } 2>/dev/null
    local -
    [[ $- != *[vx]* ]] || { builtin set +vx; } 2>/dev/null
    builtin set +aeuET
    _duetty_drawn=0
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
    _duetty_histcmd=$HISTCMD
    builtin printf %s "$_duetty_begin" >/dev/tty
    _duetty_drawn=1
}

_duetty_install() {
    local - end=";nonce=$_duetty_nonce"$'\a'
    builtin set +aeuvxET
    _duetty_ran=0 _duetty_fresh=0 _duetty_drawn=0 _duetty_code=0 _duetty_histcmd= _duetty_was= _duetty_here=0 _duetty_text= _duetty_nil= _duetty_space=' ' _duetty_exact=0
    _duetty_kept=('_duetty_code=$?' '')
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
    # where history is, and what there is to tell: nothing, or the end of the one before.
    _duetty_tell=($'\e]133;C;t=${EPOCHREALTIME-}'"$end" '$(_duetty_between)')
    _duetty_output='${_duetty_nil[_duetty_code=$?,_duetty_ran&&(_duetty_was=_duetty_histcmd,_duetty_histcmd=_duetty_here),_duetty_here=${HISTCMD-0},0]}'
    _duetty_output+='${_duetty_tell[_duetty_ran]@P}${_duetty_space:_duetty_ran=1,_duetty_drawn=0:0}'
    _duetty_ps1_before='\[${_duetty_start+${_duetty_start@P}}\]'
    _duetty_ps1_after='\[${_duetty_input-}\]'
    _duetty_ps2_before='\[${_duetty_more-}\]'
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
    _duetty_wrap
    local keymap
    for keymap in emacs vi-insert vi-command; do
        builtin bind -m "$keymap" -x '"\e[133;9~": _duetty_exactly' 2>/dev/null
    done
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

if [[ -n ${_duetty_nonce-} ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
    _duetty_install
fi
builtin unset -f _duetty_install
