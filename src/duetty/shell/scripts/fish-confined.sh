# Duetty: starts fish where its own directories cannot be written: `sh fish-confined.sh FISH ARGUMENT …`.
#
# fish keeps universal variables where its configuration is. If it cannot, it complains in the middle
# of commands' output, again and again. So it gets directories of its own for as long as the sandbox
# lives: what is there is linked, universal variables are copied. conf.d has one more file, which
# puts the environment back before any file of the user's is read.

_config=${XDG_CONFIG_HOME:-$HOME/.config}/fish
_data=${XDG_DATA_HOME:-$HOME/.local/share}/fish

_link() {
    for _each in "$1"/*; do
        [ ! -e "$_each" ] || [ -e "$2/${_each##*/}" ] || ln -s "$_each" "$2/"
    done
}

_prepare() {
    _place=$(mktemp -d "${TMPDIR:-/tmp}/fish.XXXXXX") || return
    mkdir -p "$_place/config/fish/conf.d" "$_place/data/fish" || return
    ln -s "${0%.sh}.fish" "$_place/config/fish/conf.d/000-duetty.fish" || return
    [ ! -r "$_config/fish_variables" ] || cp "$_config/fish_variables" "$_place/config/fish/"
    _link "$_config/conf.d" "$_place/config/fish/conf.d"
    _link "$_config" "$_place/config/fish"
    _link "$_data" "$_place/data/fish"
}

# By trying: Landlock is not seen by `test -w`.
_can_write() {
    mkdir -p "$1" && (: >"$1/.duetty-$$") && rm -f "$1/.duetty-$$"
}

if [ -n "$HOME" ] && ! _can_write "$_config" 2>/dev/null && _prepare 2>/dev/null; then
    [ -z "${XDG_CONFIG_HOME+set}" ] || export _DUETTY_XDG_CONFIG_HOME="$XDG_CONFIG_HOME"
    [ -z "${XDG_DATA_HOME+set}" ] || export _DUETTY_XDG_DATA_HOME="$XDG_DATA_HOME"
    export XDG_CONFIG_HOME="$_place/config" XDG_DATA_HOME="$_place/data"
fi
exec "$@"
