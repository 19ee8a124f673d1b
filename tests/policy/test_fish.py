r"""Lines of fish, read as fish reads them: nothing hides in its spelling, and everyday lines run unasked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duetty.calls import Actor, Effect
from duetty.policy import (
    Allow,
    Ask,
    Decision,
    Judged,
    Profile,
    RuleSet,
    decide,
    load_rules,
)
from duetty.policy.scanning.findings import UNKNOWN
from duetty.policy.scanning.fish import read_fish


def decided(
    line: str,
    *,
    shell: str = "fish",
    profile: Profile = Profile.GUARDED,
    rules: RuleSet | None = None,
) -> Decision:
    judged = Judged(
        operation="input.line",
        effect=Effect.INPUT,
        actor=Actor(kind="agent", name="a"),
        command_line=line,
        shell=shell,
    )
    return decide(judged, rules or RuleSet(), profile, can_ask=True)


def words_of(line: str) -> list[list[str]]:
    reading = read_fish(line)
    assert reading.unreadable == []
    return [simple.words for simple in reading.commands]


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        (r"r\x6d \X41 \u42 \U43 \104", [["rm", "A", "B", "C", "D"]]),
        (r"a b\ c \; \| \# \$x \(", [["a", "b c", ";", "|", "#", "$x", "("]]),
        (r"echo 'it\'s' 'a\\b' 'a\nb'", [["echo", "it's", r"a\b", r"a\nb"]]),
        (r'echo "a\"b" "a\$b" "a\\b" "a\nb"', [["echo", 'a"b', "a$b", r"a\b", r"a\nb"]]),
        ('r\\\nm "a\\\nb"', [["rm", "ab"]]),
        ("a >| b 2>| c &| d >>| e | f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a; b\nc & d && e || f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("for i in 1 2; echo $i; end", [["echo", UNKNOWN]]),
        (
            "if test -e x; and true; echo a; else if b; c; else; d; end",
            [["test", "-e", "x"], ["true"], ["echo", "a"], ["b"], ["c"], ["d"]],
        ),
        ("set x (date) $(id)", [["date"], ["id"], ["set", "x", UNKNOWN, UNKNOWN]]),
        ('a "$(b c)d"', [["b", "c"], ["a", f"{UNKNOWN}d"]]),
        ("a (echo b) x(echo c)y", [["echo", "b"], ["echo", "c"], ["a", "b", "xcy"]]),
        ("A=1 B=(c) d", [["c"], ["d"]]),
        ("switch (a); case b c; d; end", [["a"], ["d"]]),
        ("function f --on-event x; a; end", [["a"]]),
        ("while a; b; end < c", [["a"], ["b"], []]),
        ("a # b; c\nd e#f", [["a"], ["d", "e#f"]]),
        ("a >b 2>&1 >>c &>d >?e <f", [["a"]]),
        ("a |\nb | # c\nd", [["a"], ["b"], ["d"]]),
        ("a $HOME/x $PWD $y", [["a", "~/x", ".", UNKNOWN]]),
    ],
)
def test_a_line_is_read_as_fish_reads_it(line: str, commands: list[list[str]]) -> None:
    assert words_of(line) == commands


@pytest.mark.parametrize(
    "line",
    [
        *("echo 'a", 'echo "a', "echo \\", "echo (a", "echo a)", "a >", 'a "$(b"', "cat <<E\na\nE"),
        "(" * 20 + "a" + ")" * 20,
        "a " + "(" * 5_000,
    ],
)
def test_what_fish_would_not_read_or_nobody_can_tell_asks(line: str) -> None:
    assert read_fish(line).unreadable
    assert isinstance(decided(line), Ask)


@given(st.text(alphabet="abrmf -;|&()'\"\\$#\n>[]{},*?x6d=", max_size=60))
def test_every_line_is_read_or_refused(line: str) -> None:
    reading = read_fish(line)

    assert reading.unreadable or all(each.words is not None for each in reading.commands)


DESTRUCTIVE = r"""
r\x6d -rf ~/victim
\u0072m -rf ~/victim
\162m -rf ~/victim
rm -\x72f ~/victim
echo 'it\'s'; rm -rf ~/victim #'
true >| rm -rf ~/victim
true 2>| rm -rf ~/victim
true &| rm -rf ~/victim
true >>| rm -rf ~/victim
echo 'rm -rf ~/victim' >| source
echo 'rm -rf ~/victim' | .
command r\x6d -rf ~/victim
builtin eval 'r\x6d -rf ~/victim'
exec r\x6d -rf ~/victim
eval r\x6d -rf ~/victim
eval 'r\x6d -rf ~/victim'
eval (echo 'rm -rf ~/victim')
fish -c "r\x6d -rf ~/victim"
fish -lc 'r\x6d -rf ~/victim'
fish -C 'r\x6d -rf ~/victim' -c true
fish --init-command='r\x6d -rf ~/victim'
sudo fish -c 'r\x6d -rf ~/victim'
bash -c "fish -c 'r\x6d -rf ~/victim'"
alias q=r\x6d; q -rf ~/victim
if test 1 = 1; and true; r\x6d -rf ~/victim; end
begin; r\x6d -rf ~/victim; end
function f; r\x6d $argv; end; f -rf ~/victim
for i in (r\x6d -rf ~/victim); end
switch (r\x6d -rf ~/victim); case x; end
set y "$(r\x6d -rf ~/victim)"
A=(r\x6d -rf ~/victim) true
echo $x[(r\x6d -rf ~/victim)]
echo hi > (r\x6d -rf ~/victim)
trap 'r\x6d -rf ~/victim' EXIT
echo 'r\x6d -rf ~/victim' | fish
echo 'r\x6d -rf ~/victim' > x.fish; fish x.fish
echo 'r\x6d -rf ~/victim' > x.fish; source x.fish
echo 'r\x6d -rf ~/victim' | begin; source; end
script -c 'r\x6d -rf ~/victim'
i\x66 true; rm -rf ~/victim; e\x6ed
not r\x6d -rf ~/victim
time r\x6d -rf ~/victim
for f in *; rm -rf /; end
set x (rm -rf /home)
"""


@pytest.mark.parametrize("line", DESTRUCTIVE.strip().split("\n"))
def test_what_is_destructive_to_fish_is_named_however_it_is_spelled(line: str) -> None:
    assert decided(line).reason == "destructive"


COMPUTED = r"""
set x rm; $x -rf ~/victim
set x 'rm -rf ~/victim'; eval $x
r$x -rf ~/victim
env (string join '' r m) -rf d
sudo -n (string join '' r m) -rf d
eval (string join '' r m)' -rf d'
string join '' r 'm -rf d' | source
fish -c (string join '' r m)' -rf d'
sh -c (string join '' r m)' -rf d'
begin; eval (cat x); end
begin; echo rm -rf ~/victim; end | source
cat x | while read -l l; eval "$l"; end
{$x,a} b
"""


@pytest.mark.parametrize("line", COMPUTED.strip().split("\n"))
def test_what_fish_computes_and_runs_asks(line: str) -> None:
    assert isinstance(decided(line), Ask)


EVERYDAY = r"""
set -x FOO bar
set -gx PATH $HOME/bin $PATH
set -l files *.txt
set -e FOO
set x (date +%s)
set x $(date)
set -a list x y
set -q FOO; or set FOO 1
for f in *.txt; echo $f; end
for i in (seq 5); echo $i; end
for f in (ls); wc -l $f; end
string split , a,b
string replace -r '\.txt$' .md a.txt
string match -q '*foo*' $x; and echo yes
string length (cat x | string collect)
math 1+2
math "2 * (3 + 4)"
if test -f x; and test -d y; echo hi; end
if test -f x; echo a; else if test -d y; echo b; else; echo c; end
if not test -e x; mkdir x; end
echo (date)
echo $(date)
echo "$(date) now"
echo "$HOME (x)"
echo "it's" 'say "hi"' 'don\'t'
git log --oneline | head -5
git commit -m 'fix: don\'t crash'
git commit -m "add (some) feature; more"
cat a > b 2>&1
make &> build.log
make 2>| tee log
make &| less
ls >? list
function g; echo hi; end
function g --description 'says hi'; echo hi $argv; end
function mkcd; mkdir -p $argv[1]; and cd $argv[1]; end
abbr
abbr --list
echo a\ b
echo a\tb
echo \e\[31mred
printf '%s\n' a
printf "%s\n" $PATH
switch $x; case a b; echo ab; case '*'; echo other; end
switch (uname); case Linux; echo linux; end
while read -l x; echo $x; end < file
while true; date; sleep 1; end
begin; echo a; echo b; end | cat
begin; set -l x 1; echo $x; end > out.txt
cd (git rev-parse --show-toplevel); and make
cd $HOME
ls ~/src/*.py
ls **/*.py
cp a.txt{,.bak}
mkdir -p src/{a,b,c}
[ -f x ]; and echo y
count *.py
status is-interactive; and echo hi
type -q git; and git status
command -v git
command ls -l (pwd)
env FOO=1 make
FOO=1 make test
npm test; or npm install
cargo build && cargo test
cargo build || echo failed
! true
time sleep 1
echo $argv[1] $PATH[1 2] $x[-1] $list[2..3]
source config.fish
source venv/bin/activate.fish
grep -rn 'foo bar' src | wc -l
find . -name '*.py' | xargs wc -l
python3 -c "print(\"a\")"
echo hi # a comment
sleep 1 & echo b
read -P 'name? ' name
docker ps | awk '{print $1}'
sed -e 's/a\/b/c/' file
bash -c 'for i in 1 2; do echo $i; done'
sh -c 'echo "$HOME"'
fish -c 'for i in 1 2; echo $i; end'
fish --version
alias ll='ls -l'
alias gs 'git status'
set_color red; echo hi; set_color normal
seq 10 | while read n; math $n x 2; end
diff (sort a | psub) (sort b | psub)
nix run nixpkgs#hello
git show HEAD~2
git diff HEAD^
kubectl get pods -o jsonpath='{.items[*].metadata.name}'
date +%Y-%m-%d
rg "foo\(bar\)" src
curl 'http://x/?a=1&b=2'
for x in 1 2⏎    echo $x⏎end
if true⏎    echo yes⏎else⏎    echo no⏎end
echo a | ⏎  cat
echo a \⏎  b
"""


@pytest.mark.parametrize("line", EVERYDAY.strip().split("\n"))
def test_everyday_lines_of_fish_run_unasked(line: str) -> None:
    assert isinstance(decided(line.replace("⏎", "\n")), Allow)


@pytest.mark.parametrize(
    "line",
    [
        r"fish -c 'r\x6d -rf ~/victim'",
        r"echo 'r\x6d -rf ~/victim' | fish",
        r"fish <<< 'r\x6d -rf ~/victim'",
        "fish <<'E'\nr\\x6d -rf ~/victim\nE",
        "env fish -c 'true >| rm -rf ~/victim'",
    ],
)
@pytest.mark.parametrize("shell", ["", "bash", "zsh"])
def test_what_another_shell_hands_to_fish_is_read_as_fish_reads_it(shell: str, line: str) -> None:
    assert decided(line, shell=shell).reason == "destructive"


def test_what_others_would_find_in_a_line_of_fish_counts_too() -> None:
    assert decided("echo a&rm -rf ~/victim").reason == "destructive"
    assert decided("eval 'echo a&rm -rf ~/victim'").reason == "destructive"


def test_what_fish_hands_to_another_shell_is_read_as_that_reads_it() -> None:
    assert isinstance(decided(r"bash -c 'echo r\x6d -rf ~/victim'"), Allow)
    assert isinstance(decided("bash -c '(echo (date))'"), Ask)


@pytest.mark.parametrize(
    "line", [r"t\x6fuch made", "true >| touch made", r"eval t\x6fuch made", "if a; touch made; end"]
)
def test_rules_are_about_commands_as_fish_spells_them(line: str) -> None:
    table = {"rules": [{"name": "asks", "decide": "ask", "command": ["touch **"]}]}

    assert decided(line, rules=load_rules(table, "test")).rule == "rule:asks"


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("fish", r"echo 'it\'s'; rm -rf ~/victim #'"),
        ("fish", r"echo 'a\\b'"),
        ("zsh", "echo 'a''b'"),
        ("zsh", "git show HEAD^"),
        ("zsh", "git show stash@{0}"),
        ("fish", "git show stash@{0}"),
        ("sh", "ls &>/dev/null"),
        ("unknown", "ls"),
    ],
)
def test_what_is_proven_of_other_shells_asks_in_strict(shell: str, line: str) -> None:
    assert isinstance(decided(line, shell=shell, profile=Profile.STRICT), Ask)


@pytest.mark.parametrize("shell", ["", "bash", "zsh", "fish", "sh", "dash"])
def test_what_is_proven_of_every_shell_runs_in_strict(shell: str) -> None:
    assert isinstance(decided("ls -l 'a b'", shell=shell, profile=Profile.STRICT), Allow)


def test_the_shell_is_kept_in_the_trail() -> None:
    judged = Judged(
        operation="input.line",
        effect=Effect.INPUT,
        actor=Actor(kind="agent", name="a"),
        command_line="ls",
        shell="fish",
    )

    assert Judged.from_json(judged.to_json()) == judged
