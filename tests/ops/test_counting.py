"""Arithmetic that assigns to a variable whose name the line does not tell is asked about."""

import pytest

from duetty.ops.judging.shell_hooks import touched_hook

ASKED = {
    "bash": """
x=_due; [[ ${x}tty_base+=4 -eq 0 ]]
[[ ${x}tty_base+=4 -eq 0 ]]
[[ "${x}tty_base+=4" -eq 0 ]]
[[ 0 -ne ${x}tty_base=4 ]]
[[ a -lt $x$y ]]
[[ $x++ -le 0 ]]
[[ --$x -gt 0 ]]
[[ $(echo x)y=1 -ge 0 ]]
[[ `echo x`y=1 -ge 0 ]]
if [[ -n a && ${x}y-=1 -eq 0 ]]; then :; fi
[[ ' ]] ' == x && ${x}y=1 -eq 0 ]]
[[ LINENO=LINENO-4 -eq 0 ]]
[[ 'HISTCMD=1' -eq 0 ]]
[[ -v a[${x}y=1] ]]
[[ -v 'a[LINENO=3]' ]]
declare -i z=${x}y=1
declare -i z=LINENO=4
local -i z=$x$y
typeset -i z=$x=4
export -i z=${x}y
let ${x}y=1
let "$x = 1"
let "a = ${x}y = 1"
let 'a=SRANDOM=1'
test -v 'a[LINENO=3]'
test -v "a[${x}y=3]"
[ -v "a[$x=3]" ]
printf -v "a[${x}y=1]" z
printf -v 'a[LINENO=1]' z
read "a[${x}y=1]"
unset "a[${x}y++]"
unset 'a[LINENO=4]'
echo ${x:LINENO=3}
echo ${PATH:${x}y=3:1}
echo "${PATH:0:$x=3}"
echo ${a[${x}y=1]}
echo ${a[LINENO=1]}
echo ${#a[${x}y+=1]}
echo $(( $x$y ))
echo $(( 1 + ${x}y ))
echo $(( ${x}y = 1 ))
echo $[ LINENO = 3 ]
(( LINENO -= 4 ))
for ((LINENO=0;;)); do break; done
for ((i=0; i<3; ${x}y++)); do :; done
echo "$(echo $((LINENO=3)))"
eval '[[ ${x}y=1 -eq 0 ]]'
""",
    "zsh": """
[[ ${x}y+=4 -eq 0 ]]
[[ FUNCNEST=0 -eq 0 ]]
[ FUNCNEST=0 -eq 0 ]
test "${x}y=0" -eq 0
integer z=${x}y=1
float z=FUNCNEST=0
typeset -F z=$x=1
(( ${x}NEST = 0 ))
echo ${x[FUNCNEST=0]}
""",
}
LET_PASS = {
    "bash": """
[[ $x -eq 1 ]]
[[ x -eq 1 ]]
[[ "$x" -eq "${y}" ]]
[[ ${#a[@]} -gt 0 ]]
[[ $(wc -l < f) -ge 3 ]]
[[ "$(stat -c "%s" "$f")" -lt 100 ]]
[[ $((a + b)) -eq 3 ]]
[[ $? -ne 0 ]]
[[ $# -lt 2 && $1 == --x=y ]]
[[ ${a[$i]} -eq ${a[i+1]} ]]
[[ 10#$h -eq 8 ]]
[[ 0x$h -eq 8 ]]
[[ $x == "$a$b" ]]
[[ $x = ${a}b=c ]]
[[ $a$b =~ x=1 ]]
[[ -v map[$k] ]]
[[ -v "map[${a}_$b]" ]]
((i++))
((i+=2))
(( i = $x + 1 ))
(( x == $y ))
((total += $(wc -l < "$f")))
echo $((a+b))
echo $(($a*$b))
echo $(( ${#a[@]} - 1 ))
echo $((10#$h$m))
echo $(( (RANDOM % 6) + 1 ))
echo $(( $(date +%s) - start ))
echo $((1<<4))
[ "$n" -gt 3 ]
[ "$a$b" -eq 12 ]
test "$n" -eq 3
for ((i=0;i<3;i++)); do :; done
for ((i=0; i<${#a[@]}; i++)); do echo "${a[i]}"; done
let i++
let x=1 y=x+2
let "n = n + 1"
let n=$n+1
declare -i n=0
declare -i n=$1
local -i n=$((x+1))
declare -i n; n=$(wc -l < f)
declare x=$a$b
export URL=$a$b=c
a[i++]=x
a[$i]=x
seen[$a$b]=1
map[${a}_$b]=1
echo ${map[${a}_${b}]}
echo "${map[$k]:-none}"
echo ${x:1} ${x:0:3} ${x: -2} ${x:$i:1} ${x:i+1} ${x:0:${#x}-1}
echo ${@:2} ${x:-a=b} ${x:=a} ${x:+$a$b=c} ${x:?no}
read -r "a[$i]"
unset 'a[0]' "map[$k]"
printf -v "a[$i]" x
url="$base?x=$y"; kv=$k=$v
awk '{ a[$1]++ } END { for (k in a) print k, a[k] }' f
python3 -c 'x = [[1, 2]]; print(x[0][0] == 1)'
jq '.a[$i] = 1' f
""",
    "zsh": """
[[ $x -eq 1 ]]
[ $n -gt 3 ]
(( x = $y + 1 ))
echo ${x:h} ${x:t:r} ${x:s/$a$b=/c/}
echo $x[1] ${x[2,-1]}
integer n=0
float f=1.5
typeset -i n=$1
""",
    "fish": """
test $n -gt 3
math $x$y + 1
set -x A $x=$y
""",
}
DOCUMENT = "cat > x.sh <<'E'\n[[ ${x}y=1 -eq 0 ]]\nlet ${x}y=1\nE"


def _cases(lines: dict[str, str]) -> list[tuple[str, str]]:
    return [(shell, line) for shell, text in lines.items() for line in text.strip().split("\n")]


@pytest.mark.parametrize(("shell", "line"), _cases(ASKED))
def test_a_name_that_is_not_told_is_not_assigned_to_by_arithmetic(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is not None


@pytest.mark.parametrize(("shell", "line"), [*_cases(LET_PASS), ("bash", DOCUMENT)])
def test_everyday_arithmetic_is_left_alone(shell: str, line: str) -> None:
    assert touched_hook(line, shell=shell) is None


@pytest.mark.parametrize("inside", ["(" * 4000, "${" * 2000, '"' * 4000 + "$(", "$x" * 4000])
def test_whatever_is_computed_is_looked_at_in_bounded_time(inside: str) -> None:
    touched_hook(f"[[ {inside} -eq 1 ]]", shell="bash")
    touched_hook(f"let '{inside}'; (( {inside} ))", shell="zsh")
