# Duetty: marks for busybox ash, read as $ENV.
#
# It has no hook before or after a command: all marks are in PS1 and PS2, which it expands at every
# prompt. So there is no C, and D comes with every prompt but the first: after an empty line and
# after Ctrl-C too. `n` in A counts the prompts.
# Its editor counts the columns of a prompt, and leaves out what stands between \[ and \].
# The directory is the last field and as it is, up to BEL (`cwd_raw`).
# PS1 only names the nonce: exported, it takes none with it.

IFS= read -r _duetty_nonce <&9 2>/dev/null
exec 9<&-
if [ -n "${_DUETTY_ENV+set}" ]; then
    ENV=$_DUETTY_ENV
    export ENV
    unset _DUETTY_ENV
    # As the shell would have read it: the value is expanded first.
    eval "_duetty_e=\"$ENV\""
    if [ -r "$_duetty_e" ]; then . "$_duetty_e"; fi
else
    unset ENV
fi
if [ -n "${_duetty_nonce-}" ] && [ -n "${PS1+set}" ]; then
    _duetty_n=
    _duetty_e='\['$(printf '\033]133;')
    _duetty_b=$(printf '\007')'\]'
    _duetty_m=';nonce=${_duetty_nonce-}'
    PS1=$_duetty_e'A'$_duetty_m';n=$((_duetty_n=_duetty_n+1))'$_duetty_b$PS1$_duetty_e'B'$_duetty_m$_duetty_b
    PS1='${_duetty_n:+'$_duetty_e'D;$?'$_duetty_m';cwd_raw=$PWD'$_duetty_b'}'$PS1
    PS2=$_duetty_e'A;k=s'$_duetty_m$_duetty_b${PS2-}$_duetty_e'B;k=s'$_duetty_m$_duetty_b
    unset _duetty_b _duetty_m
fi
unset _duetty_e
