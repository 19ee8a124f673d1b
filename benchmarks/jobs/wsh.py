"""The jobs of dialect `wsh`. Each checks what it did; the opening of its session counts as a call."""

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.jobs.job import Job, Tools

JOBS: list[Job] = []
Do = Callable[[Tools], Awaitable[None]]

AWKWARD = (
    'it\'s "x" `y` $HOME $(z) ${a} \\ \\n ! !! !$ # % & | ; < > * ? [a] {b} ~ ^ é ß 漢字 🎉\tTab\n'
)


def job(
    name: str,
    about: str,
    *,
    calls: int,
    errors: int = 0,
    needs: tuple[str, ...] = (),
    is_long: bool = False,
) -> Callable[[Do], Do]:
    def added(do: Do) -> Do:
        made = Job(
            name=name,
            about=about,
            do=do,
            calls=calls,
            errors=errors,
            needs=needs,
            is_long=is_long,
        )
        JOBS.append(made)
        return do

    return added


def git(place: Path, *words: str) -> str:
    found = subprocess.run(["git", *words], cwd=place, capture_output=True, text=True, check=True)
    return found.stdout


def new_repository(place: Path) -> None:
    git(place, "init", "-q", "-b", "main")
    git(place, "config", "user.email", "a@example.org")
    git(place, "config", "user.name", "A")


# --- files and commits ------------------------------------------------------------


@job(
    "a package: three files, tests, a commit",
    "94 calls and 36 errors for one small package",
    calls=6,
    needs=("git",),
)
async def package(tools: Tools) -> None:
    new_repository(tools.place)
    data = (
        "DATA = r'''\n"
        + AWKWARD.replace("'''", "") * 120
        + "'''\n\n\ndef size():\n    return len(DATA)\n"
    )
    test = "import sys\nsys.path.insert(0, 'src')\nimport app\nassert app.size() > 10_000, \"too small!\"\nprint('ok!')\n"
    await tools.run("mkdir -p src tests && cat > src/app.py", stdin=data)
    await tools.run("cat > tests/test_app.py", stdin=test)
    await tools.run("cat > README.md", stdin=f'# It\'s "done"!\n\n{AWKWARD}')
    tested = await tools.run("python3 tests/test_app.py; rm -rf src/__pycache__")
    message = 'feat!: it\'s "done"\n\nWow! All of `it`, $HOME too.\n'
    committed = await tools.run(
        "git add -A && git commit -qF - && git status --short", stdin=message
    )

    assert (tested["output"], tested["exit_code"]) == ("ok!", 0)
    assert (committed["exit_code"], committed["output"]) == (0, "")
    assert (tools.place / "src/app.py").read_text() == data
    assert git(tools.place, "log", "-1", "--format=%B").strip() == message.strip()
    assert len(git(tools.place, "ls-files").split()) == 3


def _write(times: int) -> Do:
    async def do(tools: Tools) -> None:
        text = AWKWARD * times
        written = await tools.run("cat > file.txt", stdin=text)
        assert (written["exit_code"], written["output"]) == (0, "")
        assert (tools.place / "file.txt").read_text() == text

    return do


for size, times in (("1 KB", 10), ("12 KB", 120), ("200 KB", 2_000)):
    job(f"write a file of {size}", "files had to be written in pieces, with escapes", calls=2)(
        _write(times)
    )


@job("write a file by a quoted here-document", "a here-document of 12 KB ran line by line", calls=2)
async def heredoc(tools: Tools) -> None:
    text = AWKWARD.replace("\t", " ") * 100
    written = await tools.run(f"cat > file.txt <<'END OF FILE'\n{text}END OF FILE")
    assert written["exit_code"] == 0
    assert (tools.place / "file.txt").read_text() == text


@job("commit with -m, quotes and !", "history expansion ate the message", calls=2, needs=("git",))
async def commit(tools: Tools) -> None:
    new_repository(tools.place)
    line = 'echo 1 > a && git add a && git commit -qm "feat!: it\'s" -m \'say "hi"!\''
    assert (await tools.run(line))["exit_code"] == 0
    assert git(tools.place, "log", "-1", "--format=%B").strip() == 'feat!: it\'s\n\nsay "hi"!'


@job("apply a patch", "a diff cannot be typed", calls=3, needs=("patch",))
async def patch(tools: Tools) -> None:
    await tools.run("cat > a.txt", stdin="one\ntwo\nthree\n")
    diff = "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei!\n three\n"
    assert (await tools.run("patch -p0", stdin=diff))["exit_code"] == 0
    assert (tools.place / "a.txt").read_text() == "one\nzwei!\nthree\n"


@job("run a script from stdin", "quoting of python3 -c", calls=2)
async def script(tools: Tools) -> None:
    code = "import sys\nprint('it\\'s', \"ok!\", len(sys.argv))\nsys.exit(3)\n"
    ran = await tools.run("python3 - a b", stdin=code)
    assert (ran["output"], ran["exit_code"]) == ("it's ok! 3", 3)


@job("build, test and clean a project", "cleaning up was refused", calls=4, needs=("make", "gcc"))
async def build(tools: Tools) -> None:
    rules = "build/app: app.c\n\tmkdir -p build\n\tgcc -o $@ $<\ntest: build/app\n\t./build/app\nclean:\n\trm -rf build\n"
    await tools.run("cat > Makefile", stdin=rules)
    await tools.run(
        "cat > app.c", stdin='#include <stdio.h>\nint main(void){puts("hi!");return 0;}\n'
    )
    ran = await tools.run("make -s test && make -s clean && rm -rf build *.o && ls")
    assert (ran["output"].split(), ran["exit_code"]) == (["hi!", "Makefile", "app.c"], 0)


# --- long and in the background -----------------------------------------------------


@job(
    "a dev server: start, use, stop",
    "servers block the call, or are lost",
    calls=5,
    needs=("curl",),
)
async def dev_server(tools: Tools) -> None:
    begun = await tools.run(
        "python3 -u -m http.server 0 --bind 127.0.0.1", until_regex=r"port (\d+)"
    )
    port = begun["match"].split()[1]
    other = f"{tools.session}-2"
    await tools.use("wsh_create_session", name=other, cwd=str(tools.place))
    line = f"curl -s -o /dev/null -w '%{{http_code}}' http://127.0.0.1:{port}/"
    got = await tools.run(line, session=other)
    stopped = await tools.send("Ctrl-C")
    assert (got["output"], stopped["state"]) == ("200", "prompt")


@job("a long job: watched, interrupted, continued", "a deadline tells nothing", calls=6, errors=1)
async def long_job(tools: Tools) -> None:
    line = "python3 -uc 'import time\nfor i in range(1, 9): print(\"step\", i); time.sleep(0.3)'"
    late = await tools.run(line, max_wait_ms=600)
    seen = await tools.wait(until="step 4")
    stopped = await tools.send("Ctrl-Z")
    await tools.send("Ctrl-C")
    more = await tools.run("echo on")
    assert (late["state"], late["foreground"]["name"]) == ("running", "python3")
    assert seen["match_line"] == "step 4"
    assert (stopped["state"], more["output"]) == ("prompt", "on")


@job(
    "a job of 90 s: watched, stopped, continued to its end",
    "long builds are lost, or started twice",
    calls=7,
    errors=2,
    is_long=True,
)
async def ninety(tools: Tools) -> None:
    line = "python3 -uc 'import time\nfor i in range(90): print(\"tick\", i); time.sleep(1)'"
    late = await tools.run(line, max_wait_ms=2_000)
    seen = await tools.wait(until=["tick 10", "Error"])
    stopped = await tools.send("Ctrl-Z")
    # Many hosts wait a minute for a call, and no longer.
    await tools.run("fg", max_wait_ms=45_000)
    done = await tools.wait(end=True, max_wait_ms=55_000)
    more = await tools.run("echo on")
    assert (late["state"], seen["match"], stopped["state"]) == ("running", "tick 10", "prompt")
    assert (done["state"], done["exit_code"], more["output"]) == ("prompt", 0, "on")


@job(
    "a build in the background: read, waited for",
    "output of a background job is read again and again",
    calls=5,
)
async def background(tools: Tools) -> None:
    line = "for i in 1 2 3; do echo built $i; sleep 0.1; done; exit 2"
    begun = await tools.run(line, background=True, until=["built 1", "error"])
    name = begun["background"]
    first = await tools.use("wsh_get_scrollback", session=name, cursor=0)
    ended = await tools.use("wsh_await_quiesce", session=name, end=True)
    rest = await tools.use("wsh_get_scrollback", session=name, cursor=first["next"])
    assert (ended["exit_code"], begun["match"]) == (2, "built 1")
    assert first["lines"] + rest["lines"] == ["built 1", "built 2", "built 3"]


@job("a flood of 50 MB: its tail, then a grep", "output fills the context", calls=3)
async def flood(tools: Tools) -> None:
    ran = await tools.run(
        "seq -f 'line %.0f of a flood of fifty megabytes' 1200000", max_wait_ms=60_000
    )
    found = await tools.run("seq 1200000 | grep -c 77")
    assert ran["output"].endswith("line 1200000 of a flood of fifty megabytes")
    assert "left out" in ran["output"]
    assert int(found["output"]) > 1_000


@job("read the middle of a long output", "what was cut could not be read", calls=3)
async def middle(tools: Tools) -> None:
    ran = await tools.run("seq 100000")
    given = {"session": tools.session, "block": ran["block"], "offset": 49_999, "limit": 2}
    page = await tools.use("wsh_get_scrollback", **given)
    assert page["lines"] == ["50000", "50001"]


@job("a child that holds the pipe", "the call hangs until the child ends", calls=2)
async def held_pipe(tools: Tools) -> None:
    ran = await tools.run("(sleep 30 &) ; echo done")
    assert (ran["output"], ran["exit_code"]) == ("done", 0)


@job("two sessions at once", "one shell for everything", calls=5, errors=1)
async def two_sessions(tools: Tools) -> None:
    other = f"{tools.session}-2"
    await tools.use("wsh_create_session", name=other, cwd=str(tools.place))
    await tools.run("sleep 60", until="never", max_wait_ms=100)
    there = await tools.run("echo there", session=other)
    stopped = await tools.send("Ctrl-C")
    assert (there["output"], stopped["state"]) == ("there", "prompt")


# --- programs that ask --------------------------------------------------------------


@job("the Python REPL", "a block is not closed", calls=5)
async def python(tools: Tools) -> None:
    await tools.run("python3 -q")
    await tools.run("def f(n):\n    return n * 2\n")
    told = await tools.run("f(21)")
    left = await tools.run("exit()")
    assert (told["output"], left["state"]) == ("42", "prompt")


def _repl(start: str, question: str, answer: str, leave: str) -> Do:
    async def do(tools: Tools) -> None:
        begun = await tools.run(start)
        assert begun["completed_by"] == "input", begun
        told = await tools.run(question)
        left = await tools.run(leave)
        assert answer in told["output"], told
        assert left["state"] == "prompt", left

    return do


for program, start, question, answer, leave in (
    ("node", "node", "[1, 2].map(x => x * 21)", "[ 21, 42 ]", ".exit"),
    ("sqlite3", "sqlite3", "select 6 * 7, 'it''s!';", "42|it's!", ".quit"),
    ("gdb", "gdb -q", "print 6 * 7", "$1 = 42", "quit"),
    ("bc", "bc -q", "2 ^ 10", "1024", "quit"),
):
    job(
        f"a REPL: {program}", "the echo and the prompt are in the output", calls=4, needs=(program,)
    )(_repl(start, question, answer, leave))


@job("psql-like: a pager inside a client", "the answer hides in a pager", calls=5, needs=("less",))
async def pager_inside(tools: Tools) -> None:
    client = "while read -rp 'db=> ' q; do case $q in quit) break;; *) seq 300 | less;; esac; done"
    await tools.run(client)
    shown = await tools.run("select")
    back = await tools.send("q", wait=True, view="output")
    left = await tools.run("quit")
    assert (shown["state"], back["state"], left["state"]) == (
        "fullscreen",
        "awaiting_input",
        "prompt",
    )


@job("an installer's questions", "yes/no prompts hang", calls=5)
async def installer(tools: Tools) -> None:
    line = "read -rp 'Name: ' n; read -rp 'Continue? [Y/n] ' y; echo \"$n $y\" > answers; echo installed"
    await tools.run(line)
    asked = await tools.run("it's me!")
    done = await tools.run("Y")
    check = await tools.run("cat answers")
    assert "Continue?" in asked["output"]
    assert done["output"].endswith("installed")
    assert check["output"] == "it's me! Y"


@job("a password", "a secret in the output, or a prompt that is not seen", calls=3)
async def password(tools: Tools) -> None:
    asked = await tools.run(
        "read -rsp '[sudo] password: ' p; echo; test \"$p\" = 'ge!heim' && echo right"
    )
    told = await tools.send(input="ge!heim\r", wait=True, view="output")
    assert (asked["state"], told["output"].strip()) == ("awaiting_password", "right")


@job("a nested shell", "an inner shell has no marks", calls=4)
async def nested(tools: Tools) -> None:
    await tools.run("env -i PS1='inner$ ' bash --norc --noprofile")
    told = await tools.run("echo $((6 * 7))")
    left = await tools.run("exit")
    assert (told["output"], left["state"]) == ("42", "prompt")


# --- full-screen programs -----------------------------------------------------------


@job("edit in vim", "keys sent blindly, a screen read after each", calls=3, needs=("vim",))
async def vim(tools: Tools) -> None:
    await tools.run("vim -u NONE -n note.txt")
    left = await tools.send(input="ihello 'world'!\x1b:wq\r", wait=True, view="output")
    assert (left["state"], (tools.place / "note.txt").read_text()) == ("prompt", "hello 'world'!\n")


@job("edit in nano", "keys sent blindly, a screen read after each", calls=4, needs=("nano",))
async def nano(tools: Tools) -> None:
    shown = await tools.run("nano -I note.txt")
    asked = await tools.send("Ctrl-X", input="hello 'world'!\r")
    left = await tools.send("y", "Enter", wait=True, view="output")
    assert shown["state"] == "fullscreen"
    assert "Save modified buffer" in "".join(asked["changed"].values())
    assert (left["state"], (tools.place / "note.txt").read_text().rstrip()) == (
        "prompt",
        "hello 'world'!",
    )


@job("search in less", "blank rows, and a screen for each key", calls=4, needs=("less",))
async def less(tools: Tools) -> None:
    (tools.place / "log").write_text("".join(f"line {number}\n" for number in range(5_000)))
    await tools.run("less log")
    found = await tools.send(input="/line 4321\r")
    left = await tools.send("q")
    assert found["changed"]["0"] == "line 4321"
    assert left["state"] == "prompt"


def _monitor(program: str) -> Do:
    async def do(tools: Tools) -> None:
        shown = await tools.run(program)
        left = await tools.send("q")
        assert shown["state"] in ("fullscreen", "running", "awaiting_input"), shown
        assert "CPU" in shown["output"], shown
        assert left["state"] == "prompt", left

    return do


for program in ("top", "htop"):
    job(f"look at {program} and leave it", "the loop of a monitor", calls=3, needs=(program,))(
        _monitor(program)
    )


@job("git rebase -i", "an editor inside a command", calls=3, needs=("git", "vim"))
async def rebase(tools: Tools) -> None:
    new_repository(tools.place)
    for number in range(3):
        (tools.place / str(number)).write_text("x")
        git(tools.place, "add", "-A")
        git(tools.place, "commit", "-qm", f"c{number}")
    await tools.run("GIT_SEQUENCE_EDITOR='vim -u NONE -n' GIT_EDITOR=true git rebase -i HEAD~2")
    done = await tools.send(input="jcwfixup\x1b:wq\r", wait=True, view="output")
    assert done["state"] == "prompt", done
    assert git(tools.place, "log", "--format=%s").split() == ["c1", "c0"]


@job("git add -p", "a question for each hunk", calls=5, needs=("git",))
async def add_p(tools: Tools) -> None:
    new_repository(tools.place)
    file = tools.place / "a"
    lines = [f"line {number}\n" for number in range(40)]
    file.write_text("".join(lines))
    git(tools.place, "add", "-A")
    git(tools.place, "commit", "-qm", "a")
    lines[2], lines[30] = "first!\n", "second!\n"
    file.write_text("".join(lines))
    await tools.run("git -c core.pager=cat add -p")
    await tools.run("y")
    done = await tools.run("n")
    staged = await tools.run("git --no-pager diff --cached --stat")
    assert done["state"] == "prompt", done
    assert "1 insertion(+), 1 deletion(-)" in staged["output"]


@job("git log in a pager", "the pager trap", calls=3, needs=("git", "less"))
async def pager_trap(tools: Tools) -> None:
    new_repository(tools.place)
    for number in range(30):
        git(tools.place, "commit", "-q", "--allow-empty", "-m", f"commit number {number}")
    shown = await tools.run("GIT_PAGER=less git log")
    next_ = await tools.run("echo next", reset=True)
    assert shown["output"].endswith(":")
    assert next_["output"] == "next"


# --- trouble ------------------------------------------------------------------------


@job("a terminal left raw", "nothing works and nothing says why", calls=3)
async def raw(tools: Tools) -> None:
    await tools.run("stty raw -echo; printf '\\033[?1049h'")
    ran = await tools.run("echo fine; stty -a | grep -c -- ' icanon'", reset=True)
    assert ran["output"] == "fine\n1"


@job("an unclosed quote", "the session is poisoned", calls=4)
async def quote(tools: Tools) -> None:
    begun = await tools.run("echo \"it's")
    await tools.send("Ctrl-C")
    ran = await tools.run("echo fine")
    assert ("note" in begun, ran["output"]) == (True, "fine")


@job("a here-document and Ctrl-C", "the body ran line by line", calls=4)
async def heredoc_left(tools: Tools) -> None:
    await tools.run("cat > out <<'E'\ntouch ran")
    await tools.send("Ctrl-C")
    ran = await tools.run("ls")
    assert ran["output"] == ""


@job("a shell that exits", "a dead session keeps its name", calls=3, errors=1)
async def exits(tools: Tools) -> None:
    gone = await tools.run("exit 7")
    await tools.open()
    assert (gone["state"], gone["exit_code"]) == ("exited", 7)


@job("a shell that is killed", "the reason is lost", calls=3, errors=1)
async def killed(tools: Tools) -> None:
    gone = await tools.run("kill -9 $$")
    listed = await tools.use("wsh_list_sessions", session=tools.session)
    assert (gone["state"], gone["exit_code"], listed["running"]) == ("exited", 137, False)


@job("a program that ignores everything", "no way out", calls=4, errors=1)
async def hung(tools: Tools) -> None:
    await tools.run("(trap '' INT HUP TERM; while :; do sleep 0.2; done)", max_wait_ms=500)
    deaf = await tools.send("Ctrl-C")
    ran = await tools.run("echo fine", reset=True)
    assert ("note" in deaf, ran["output"]) == (True, "fine")


@job("Unicode and wide characters", "columns and bytes are mixed up", calls=2)
async def unicode(tools: Tools) -> None:
    text = "漢字かな 🎉👩‍👩‍👧 é ñ é العربية ─│┌"
    ran = await tools.run(f"printf '%s\\n' '{text}'")
    assert ran["output"] == text


@job("a line of 10,000 characters", "long lines are cut or slow", calls=2)
async def long_line(tools: Tools) -> None:
    text = "abcdefghi!" * 1_000
    ran = await tools.run(f"printf %s '{text}' > file")
    assert ran["exit_code"] == 0
    assert (tools.place / "file").read_text() == text


@job("a refusal, and what follows", "a refusal poisons the session", calls=3, errors=1)
async def refused(tools: Tools) -> None:
    told = await tools.run('rm -rf /etc /usr && echo "open')
    ran = await tools.run("echo fine!")
    assert (told["error"]["code"], ran["output"]) == ("policy_denied", "fine!")
