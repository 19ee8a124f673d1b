# Duetty: marks for zsh, read in place of the user's .zshenv, which is read here.
#
# ZDOTDIR is given back at once, so every later file is the user's own, and read by zsh itself.
# What must wait for them waits for the first prompt.
#
# Where each mark comes from:
#   D  PROMPT_EOL_MARK, which zsh shows first of all, and which would else be part of the output.
#      It gives `cwd_raw`, true but for control characters: for those see A.
#      Without PROMPT_SP: _duetty_done, the first of precmd_functions. A function `precmd` would run
#      before it, so it is made the second.
#   A  _duetty_draw, with `cwd` if it has control characters. Not PS1, which is drawn more than once.
#   B  PS1, after the user's text
#   C  _duetty_run, the first of preexec_functions, with the command line
#   Q  the same before it, where there is a gate. Its end counts as an interrupt, which takes the line
#      back, unless the very yes came: whatever breaks in there (a function or a command that is gone,
#      hidden or readonly), the line does not run.
# PS1 and PS2 carry the marks while a line is edited, and are the user's own while a command runs;
# PROMPT_EOL_MARK the other way round.
# _duetty_draw is the last of precmd_functions: zsh keeps `$?`, `$_` and `pipestatus` for the user's
# next line whatever these do. Should it not get there (the lists were changed, one of them broke
# off), `sched` runs it after them all and before the prompt; that costs one line its `pipestatus`.

builtin unset _duetty_nonce
{ IFS= builtin read -r _duetty_nonce <&9; exec 9<&- } 2>/dev/null
builtin typeset -g +x _duetty_nonce
builtin typeset -gr +x _duetty_gate=${_DUETTY_GATE-}
builtin unset _DUETTY_GATE

if [[ -n ${_DUETTY_ZDOTDIR+set} ]]; then
    builtin export ZDOTDIR=$_DUETTY_ZDOTDIR
    builtin unset _DUETTY_ZDOTDIR
else
    builtin unset ZDOTDIR
fi

if [[ -o interactive && -n ${_duetty_nonce-} ]] && builtin zmodload zsh/sched 2>/dev/null; then
    builtin typeset -gi +x _duetty_ran=0 _duetty_drawing=1
    builtin typeset -g +x _duetty_histcmd= _duetty_exported= _duetty_eol_was= _duetty_yes=
    builtin typeset -g +x _duetty_eol=$'%{\e]133;D;%?;nonce='$_duetty_nonce$';t=%D{%s.%6.};cwd_raw=%/\a%}'
    builtin typeset -ga +x _duetty_mark
    _duetty_mark=(
        $'%{\e]133;B;nonce='$_duetty_nonce$'\a%}'
        $'%{\e]133;A;k=s;nonce='$_duetty_nonce$'\a%}'
        $'%{\e]133;B;k=s;nonce='$_duetty_nonce$'\a%}'
    )

    # End the line that ran, or was refused, since the last prompt.
    # `$?` of a line that was refused is not its own: D says nothing then.
    _duetty_end() {
        if [[ ${PROMPT_EOL_MARK-} == $_duetty_eol* ]]; then
            [[ -o prompt_sp && -o prompt_cr ]] && _duetty_ran=0
            PROMPT_EOL_MARK=${PROMPT_EOL_MARK#$_duetty_eol}
            [[ $_duetty_eol_was == *export* ]] && builtin typeset -gx PROMPT_EOL_MARK
            [[ -n $_duetty_eol_was ]] || builtin unset PROMPT_EOL_MARK
            _duetty_histcmd=
        fi
        if (( _duetty_ran )); then
            builtin print -rn -- $'\e]133;D;'$1$';nonce='$_duetty_nonce';t='${(%):-%D{%s.%6.}}';cwd='${(qqqq)PWD}$'\a' >/dev/tty
        elif [[ -n $_duetty_histcmd ]] && (( HISTCMD > _duetty_histcmd )); then
            builtin print -rn -- $'\e]133;D;nonce='$_duetty_nonce$';cwd='${(qqqq)PWD}$'\a' >/dev/tty
        fi 2>/dev/null
        _duetty_ran=0
        _duetty_histcmd=$HISTCMD
    }

    _duetty_done() {
        builtin local code=$?
        builtin emulate -L zsh -o no_xtrace
        _duetty_end $code
        _duetty_later
    }

    # Should _duetty_draw not be reached otherwise. Its argument is what leaves `$_` as it was.
    _duetty_later() {
        (( _duetty_drawing )) || builtin sched +0 '_duetty_draw "$_"'
        _duetty_drawing=1
    }

    _duetty_draw() {
        builtin local code=$? back=$?
        [[ -o err_exit ]] && back=0
        builtin emulate -L zsh -o no_xtrace
        # Another function comes after this one: leave it to `sched`, which gives an argument.
        (( ! $# && _duetty_drawing )) && [[ ${precmd_functions[-1]-} != _duetty_draw ]] && return 0
        if (( _duetty_drawing )); then
            builtin local -i place=${zsh_scheduled_events[(i)*:_duetty_draw *]}
            (( place > $#zsh_scheduled_events )) || builtin sched -$place
        fi
        _duetty_drawing=0
        _duetty_end $code
        _duetty_arrange
        _duetty_bare
        builtin local cwd=
        [[ $PWD == *[[:cntrl:]]* ]] && cwd=';cwd='${(qqqq)PWD}
        # _duetty_arrange has just put the hook in place: each prompt tells that it is, and whole.
        builtin local gated=
        [[ -n $_duetty_gate ]] && _duetty_whole && gated=';gate=1'
        builtin print -rn -- $'\e]133;A'$gated';nonce='$_duetty_nonce$cwd$'\a' >/dev/tty 2>/dev/null
        # What `sched` runs leaves its `$?` to the user's next line.
        [[ -o prompt_percent ]] || return back
        [[ ${(t)PS1} == *export* ]] && _duetty_exported+=1 && builtin typeset -g +x PS1
        [[ ${(t)PS2} == *export* ]] && _duetty_exported+=2 && builtin typeset -g +x PS2
        PS1=$PS1$_duetty_mark[1]
        PS2=$_duetty_mark[2]$PS2$_duetty_mark[3]
        return back
    }

    # Ask whether the line may run that zsh is about to run.
    _duetty_ask() {
        builtin local id=$RANDOM${(%):-%D{%s%9.}} cmdline= expanded= answer=
        if [[ -e $_duetty_gate.armed && $(<$_duetty_gate.armed) == 2 ]]; then
            _duetty_yes=yes
            return 0
        fi
        builtin local text=${1:-$3}
        # What aliases make of it is told too, or nothing is: the line alone would say too little.
        (( $#text && $#text <= 4096 && $#3 <= 8192 )) && cmdline=';cmdline='${(qqqq)text}
        (( $#3 && $#3 <= 8192 )) && expanded=';expanded='${(qqqq)3}
        {
            builtin print -rn -- $'\e]133;Q;nonce='$_duetty_nonce';id='$id$cmdline$expanded$'\a' >/dev/tty
            IFS= builtin read -r -t 604800 answer
        } 2>/dev/null <>$_duetty_gate
        if [[ $answer == "$_duetty_nonce $id allow" ]]; then
            _duetty_yes=yes
            return 0
        fi
        # What is no answer to this question is nobody's business: it may hold the nonce.
        [[ $answer == "$_duetty_nonce $id deny "* ]] || answer=
        answer=${answer#"$_duetty_nonce $id deny "}
        builtin print -r -- ${answer:-duetty: nobody answered, so this line was not run} >/dev/tty
        return 1
    }

    _duetty_run() {
        if [[ -n $_duetty_gate ]]; then
            {
                _duetty_yes=
                # A function of this name would stand in for every builtin here.
                if (( ! ${+functions[builtin]} )); then
                    builtin emulate -L zsh -o no_xtrace
                    _duetty_ask "$@"
                fi
            } always {
                # Nothing here can be hidden or switched off.
                [[ $_duetty_yes == yes && $TRY_BLOCK_ERROR == 0 ]] || TRY_BLOCK_INTERRUPT=1
            }
        else
            builtin emulate -L zsh -o no_xtrace
        fi
        builtin local text=${1:-$3} cmdline=
        (( $#text && $#text <= 4096 )) && cmdline=';cmdline='${(qqqq)text}
        builtin print -rn -- $'\e]133;C;nonce='$_duetty_nonce';t='${(%):-%D{%s.%6.}}$cmdline$'\a' >/dev/tty 2>/dev/null
        _duetty_ran=1
        _duetty_bare
        if [[ -o prompt_percent && ${PROMPT_EOL_MARK-} != $_duetty_eol* ]]; then
            _duetty_eol_was=${(t)PROMPT_EOL_MARK-}
            builtin typeset -g +x PROMPT_EOL_MARK=$_duetty_eol${PROMPT_EOL_MARK-%B%S%#%s%b}
        fi
        _duetty_later
    }

    # Give PS1 and PS2 back as the user made them.
    _duetty_bare() {
        PS1=${PS1//$_duetty_mark[1]}
        PS2=${${PS2//$_duetty_mark[2]}//$_duetty_mark[3]}
        [[ $_duetty_exported == *1* ]] && builtin typeset -gx PS1
        [[ $_duetty_exported == *2* ]] && builtin typeset -gx PS2
        _duetty_exported=
    }

    _duetty_arrange() {
        builtin typeset -ga precmd_functions preexec_functions
        if (( $+functions[precmd] )); then
            if (( $+functions[_duetty_precmd] )); then builtin unfunction _duetty_precmd; fi
            builtin functions -c precmd _duetty_precmd 2>/dev/null || functions[_duetty_precmd]=$functions[precmd]
            builtin unfunction precmd
            precmd_functions=(${precmd_functions:#_duetty_done})
        fi
        if [[ ${precmd_functions[1]-} != _duetty_done || ${precmd_functions[-1]-} != _duetty_draw ]]; then
            precmd_functions=(${precmd_functions:#(_duetty_done|_duetty_precmd|_duetty_draw)})
            if (( $+functions[_duetty_precmd] )); then precmd_functions=(_duetty_precmd $precmd_functions); fi
            precmd_functions=(_duetty_done $precmd_functions _duetty_draw)
        fi
        if [[ ${preexec_functions[1]-} != _duetty_run ]]; then
            preexec_functions=(_duetty_run ${preexec_functions:#_duetty_run})
        fi
    }

    # Whether all that asks is as it was made, and nothing stands in its way.
    _duetty_whole() {
        builtin local name= text=
        for name in $_duetty_names; do text+=$functions[$name]$'\n'; done
        [[ $text == "$_duetty_text" && ${preexec_functions[1]-} == _duetty_run ]] || return 1
        [[ -z ${dis_builtins[(I)(builtin|emulate|local|print|read|sched|typeset|unset)]} ]] || return 1
        [[ ${(t)TRY_BLOCK_INTERRUPT} == integer* && ${(t)TRY_BLOCK_INTERRUPT}${(t)_duetty_yes} != *readonly* ]] || return 1
        (( ! ${+functions[builtin]} && (FUNCNEST < 0 || FUNCNEST > 20) )) || return 1
        # Where functions nest no deeper than none, nothing asks: what it is at the first prompt it stays.
        [[ ${(t)FUNCNEST} == *readonly* ]] || builtin typeset -gr FUNCNEST
    }

    builtin typeset -ga +x _duetty_names
    _duetty_names=(${(ok)functions[(I)_duetty_*]})
    builtin typeset -g +x _duetty_text=
    for _duetty_yes in $_duetty_names; do _duetty_text+=$functions[$_duetty_yes]$'\n'; done
    builtin typeset -gr _duetty_names _duetty_text

    builtin sched +0 '_duetty_draw "$_"'
fi

if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then
    builtin . ${ZDOTDIR:-$HOME}/.zshenv
fi
