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
# PS1 and PS2 carry the marks while a line is edited, and are the user's own while a command runs;
# PROMPT_EOL_MARK the other way round.
# _duetty_draw is the last of precmd_functions: zsh keeps `$?`, `$_` and `pipestatus` for the user's
# next line whatever these do. Should it not get there (the lists were changed, one of them broke
# off), `sched` runs it after them all and before the prompt; that costs one line its `pipestatus`.
#
# A run's line is exact text: before one that history expansion could change, or that has a comment,
# the server presses a key of ours (see `shell/exact.py`), which sets both options until the next prompt.

builtin unset _duetty_nonce
{ IFS= builtin read -r _duetty_nonce <&9; exec 9<&- } 2>/dev/null
builtin typeset -g +x _duetty_nonce

if [[ -n ${_DUETTY_ZDOTDIR+set} ]]; then
    builtin export ZDOTDIR=$_DUETTY_ZDOTDIR
    builtin unset _DUETTY_ZDOTDIR
else
    builtin unset ZDOTDIR
fi

if [[ -o interactive && -n ${_duetty_nonce-} ]] && builtin zmodload zsh/sched 2>/dev/null; then
    builtin typeset -gi +x _duetty_ran=0 _duetty_drawing=1
    builtin typeset -g +x _duetty_histcmd= _duetty_exported= _duetty_eol_was=
    builtin typeset -g +x _duetty_histchars=
    builtin typeset -gi +x _duetty_comments=0
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
        [[ -n $_duetty_histchars ]] && _duetty_inexactly
        _duetty_ended $code
    }

    _duetty_ended() {
        builtin emulate -L zsh -o no_xtrace
        _duetty_end $1
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
        _duetty_bind
        builtin local cwd=
        [[ $PWD == *[[:cntrl:]]* ]] && cwd=';cwd='${(qqqq)PWD}
        builtin print -rn -- $'\e]133;A;nonce='$_duetty_nonce$cwd$'\a' >/dev/tty 2>/dev/null
        # What `sched` runs leaves its `$?` to the user's next line.
        [[ -o prompt_percent ]] || return back
        [[ ${(t)PS1} == *export* ]] && _duetty_exported+=1 && builtin typeset -g +x PS1
        [[ ${(t)PS2} == *export* ]] && _duetty_exported+=2 && builtin typeset -g +x PS2
        PS1=$PS1$_duetty_mark[1]
        PS2=$_duetty_mark[2]$PS2$_duetty_mark[3]
        return back
    }

    # The key that a run presses before its line. Not by the option bang_hist: zsh has read that when
    # the line is edited. By characters that no line has.
    _duetty_exactly() {
        if [[ -z $_duetty_histchars ]]; then _duetty_histchars=$histchars; histchars=$'\1\1#'; fi
        if [[ ! -o interactive_comments ]]; then builtin setopt interactive_comments; _duetty_comments=1; fi
    }

    # Called by no function with `emulate -L`, which would take it back.
    _duetty_inexactly() {
        if [[ -n $_duetty_histchars ]]; then histchars=$_duetty_histchars; _duetty_histchars=; fi
        if (( _duetty_comments )); then builtin setopt no_interactive_comments; _duetty_comments=0; fi
    }

    _duetty_bind() {
        [[ -o zle ]] && (( ! $+widgets[_duetty_exactly] )) || return 0
        builtin zle -N _duetty_exactly
        builtin local keymap
        for keymap in emacs viins vicmd; do builtin bindkey -M $keymap '\e[133;9~' _duetty_exactly; done
    }

    _duetty_run() {
        builtin emulate -L zsh -o no_xtrace
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

    builtin sched +0 '_duetty_draw "$_"'
fi

if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then
    builtin . ${ZDOTDIR:-$HOME}/.zshenv
fi
