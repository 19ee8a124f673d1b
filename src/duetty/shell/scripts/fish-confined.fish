# Duetty: puts back what fish-confined.sh changed. fish itself has looked by now, and does not look again.

for name in XDG_CONFIG_HOME XDG_DATA_HOME
    set -l kept _DUETTY_$name
    set --erase --global $name
    set --query $kept; and set --global --export $name $$kept
    set --erase --global $kept
end
