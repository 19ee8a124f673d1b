"""Further jobs of dialect `wsh`: whole projects, and what surprised whoever did them first."""

from benchmarks.jobs.job import Tools
from benchmarks.jobs.wsh import git, job, new_repository

# --- projects -----------------------------------------------------------------------


@job(
    "a Node project: a failing test, mended",
    "a test run's result is cut off",
    calls=6,
    needs=("node", "npm"),
)
async def node_project(tools: Tools) -> None:
    package = '{"name": "x", "type": "module", "scripts": {"test": "node --test"}}\n'
    test = (
        "import test from 'node:test';\nimport assert from 'node:assert';\n"
        "import {add} from '../index.js';\ntest('adds!', () => assert.equal(add(1, 2), 4));\n"
    )
    await tools.run("mkdir -p test && cat > package.json", stdin=package)
    await tools.run("cat > index.js", stdin="export const add = (a, b) => a + b;\n")
    await tools.run("cat > test/add.test.js", stdin=test)
    failed = await tools.run("npm test")
    passed = await tools.run("sed -i 's/, 4)/, 3)/' test/add.test.js && npm test")
    assert (failed["exit_code"], passed["exit_code"]) == (1, 0)
    assert "3 == 4" in failed["output"]
    assert "pass 1" in passed["output"]


@job(
    "a C project: a compile error, then make -j2",
    "output of two compilers at once",
    calls=4,
    needs=("make", "gcc"),
)
async def c_project(tools: Tools) -> None:
    rules = "all: a.o b.o\n\tgcc -o app $^\n%.o: %.c\n\tgcc -c -o $@ $<\nclean:\n\trm -f *.o app\n"
    await tools.run("cat > Makefile", stdin=rules)
    broken = await tools.run(
        "echo 'int b(void){return 1;}' > b.c; echo 'int main(void){return x}' > a.c; make -j2"
    )
    built = await tools.run(
        "echo 'int main(void){return 0;}' > a.c; make -s -j2 && ./app && make -s clean && ls"
    )
    assert broken["exit_code"] == 2
    assert "undeclared" in broken["output"]
    assert (built["output"].split(), built["exit_code"]) == (["Makefile", "a.c", "b.c"], 0)


@job("a merge conflict, resolved", "a file with markers has to be written whole", calls=4)
async def merge(tools: Tools) -> None:
    new_repository(tools.place)
    await tools.run(
        "printf 'one\\ntwo\\n' > f && git add f && git commit -qm base && git switch -qc x && "
        "sed -i s/two/zwei/ f && git commit -qam x && git switch -q main && sed -i s/two/deux/ f && git commit -qam y"
    )
    torn = await tools.run("git merge x; cat f")
    line = "cat > f && git add f && git commit -q --no-edit && git status --short"
    done = await tools.run(line, stdin="one\nzwei, deux!\n")
    assert "<<<<<<< HEAD" in torn["output"]
    assert (done["exit_code"], done["output"]) == (0, "")
    assert git(tools.place, "log", "-1", "--format=%s").strip() == "Merge branch 'x'"


@job("git bisect", "a search by a script", calls=3, needs=("git",))
async def bisect(tools: Tools) -> None:
    new_repository(tools.place)
    line = 'for i in $(seq 12); do echo $i > n; git add n; git commit -qm "c$i"; done'
    await tools.run(line, max_wait_ms=60_000)
    found = await tools.run(
        "git bisect start HEAD HEAD~11 && git bisect run sh -c 'test $(cat n) -lt 8' | grep first; git bisect reset"
    )
    assert "is the first bad commit" in found["output"]
    assert git(tools.place, "log", "-1", "--format=%s").strip() == "c12"


@job("edit two hundred files, delete what was built", "cleaning up was refused", calls=4)
async def many_files(tools: Tools) -> None:
    await tools.run(
        "mkdir -p src/in build/x dist && touch build/x/y && for i in $(seq 200); do printf 'foo %s\\r\\n' $i > src/in/$i.txt; done"
    )
    done = await tools.run(
        "grep -rl foo src | xargs sed -i 's/foo/bar/; s/\\r$//' && cat src/in/7.txt && grep -rc bar src | wc -l"
    )
    cleaned = await tools.run(
        "rm -rf build ./dist && find . -name '*.txt' -delete && find . -type d -empty -delete && ls -A"
    )
    assert done["output"].split("\n") == ["bar 7", "200"]
    assert (cleaned["exit_code"], cleaned["output"]) == (0, "")


@job("tar and zip, there and back", "archives ask whether to replace", calls=3, needs=("zip",))
async def archives(tools: Tools) -> None:
    text = "a\tb\r\nüñ 🎉 !\r\n"
    await tools.run("mkdir -p d/e && cat > d/e/f", stdin=text)
    done = await tools.run(
        "tar czf d.tgz d && zip -qr d.zip d && rm -rf d && tar xzf d.tgz && unzip -qo d.zip && rm d.tgz d.zip && find . -type f"
    )
    assert (done["exit_code"], done["output"]) == (0, "./d/e/f")
    assert (tools.place / "d/e/f").read_bytes() == text.encode()


# --- programs -----------------------------------------------------------------------


@job("crontab-like: an editor by EDITOR", "the editor's screen is in the output", calls=5)
async def editor(tools: Tools) -> None:
    script = '#!/bin/sh\nf=$(mktemp)\necho "# m h dom" > $f\n$EDITOR $f\necho installing; cat $f; rm -f $f\n'
    await tools.run("cat > tab && chmod +x tab", stdin=script)
    shown = await tools.run("EDITOR='vi -u NONE -n' ./tab")
    done = await tools.send(input="o5 * * * * echo hi!\x1b:wq\r", wait=True, view="output")
    by_script = await tools.run("EDITOR='sed -i s/dom/DOM/' ./tab")
    assert shown["state"] == "fullscreen"
    assert done["output"] == "installing\n# m h dom\n5 * * * * echo hi!"
    assert "changed" not in done
    assert by_script["output"] == "installing\n# m h DOM"


@job("ssh-like: a question, a password twice, a shell", "an inner shell has no marks", calls=9)
async def ssh(tools: Tools) -> None:
    script = (
        '#!/bin/bash\nread -rp "Are you sure (yes/no)? " a; [ "$a" = yes ] || exit 1\n'
        'until read -rsp "password: " p; echo; [ "$p" = "s3cr!t" ]; do echo "Permission denied."; done\n'
        "exec env -i TERM=$TERM PATH=$PATH PS1='me@x:~$ ' bash --norc --noprofile\n"
    )
    await tools.run("cat > fssh && chmod +x fssh", stdin=script)
    await tools.run("./fssh")
    asked = await tools.run("yes")
    denied = await tools.send(input="wrong\r", wait=True, view="output")
    await tools.send(input="s3cr!t\r", wait=True, view="output")
    written = await tools.run("cat > remote.txt <<'EOF'\nhello\nworld!\nEOF")
    read = await tools.run("for each in remote.txt\ndo cat $each\ndone")
    left = await tools.run("exit 4")
    assert (asked["state"], asked["output"]) == ("awaiting_password", "password: ")
    assert (denied["state"], "Permission denied" in denied["output"]) == ("awaiting_password", True)
    assert (written["output"], read["output"]) == ("", "hello\nworld!")
    assert (left["state"], left["exit_code"]) == ("prompt", 4)


@job("progress bars", "each redraw is a line", calls=3)
async def progress(tools: Tools) -> None:
    code = (
        "import sys, time\nfor n in range(4): print(f'layer{n}: waiting')\nfor s in range(0, 101, 4):\n"
        "    for n in range(4):\n        up = 4 - n\n"
        "        sys.stdout.write(f'\\033[{up}A\\r\\033[Klayer{n}: {s}%\\033[{up}B\\r')\n    sys.stdout.flush()\n"
        "for s in range(101): sys.stdout.write(f'\\rpushing {s:3}%')\nprint('\\ndone')\n"
    )
    await tools.run("cat > pull.py", stdin=code)
    ran = await tools.run("python3 pull.py")
    layers = [f"layer{number}: 100%" for number in range(4)]
    assert ran["output"].split("\n") == [*layers, "pushing 100%", "done"]


@job("a dev server in the background, and curl", "servers block the call", calls=5, needs=("curl",))
async def background_server(tools: Tools) -> None:
    begun = await tools.run(
        "python3 -u -m http.server 0 --bind 127.0.0.1", background=True, until_regex=r"port \d+"
    )
    port = begun["match"].split()[1]
    got = await tools.run(f"curl -s -o /dev/null -w '%{{http_code}}' http://127.0.0.1:{port}/")
    log = await tools.use("wsh_get_scrollback", session=begun["background"], cursor=0)
    await tools.use("wsh_manage_session", session=begun["background"], action="kill")
    assert got["output"] == "200"
    assert any("GET / HTTP" in line for line in log["lines"])


@job("a test run in the background, its result", "its end says nothing of its output", calls=3)
async def result(tools: Tools) -> None:
    line = "for i in $(seq 90); do echo test $i ok; done; echo test 91 FAILED; exit 1"
    begun = await tools.run(line, background=True)
    ended = await tools.use("wsh_await_quiesce", session=begun["background"], end=True)
    assert (ended["exit_code"], ended["output"].endswith("test 91 FAILED")) == (1, True)


# --- mistakes -----------------------------------------------------------------------


@job("a command line given to an editor", "typed into vim without a word", calls=4)
async def into_editor(tools: Tools) -> None:
    await tools.run("vi -u NONE -n note.txt")
    told = await tools.run("ls")
    ran = await tools.run("echo fine", reset=True)
    assert "no shell ran it" in told["note"]
    assert ran["output"] == "fine"


@job("keys left at the prompt", "a key too many poisons the session", calls=6)
async def left_keys(tools: Tools) -> None:
    await tools.run("echo one")
    await tools.send("Up")
    first = await tools.run("echo two")
    await tools.send("Escape")
    second = await tools.run("echo three")
    assert (first["output"], second["output"]) == ("two", "three")


@job(
    "the terminal is held by a server",
    "the line was not typed, and nothing says why",
    calls=5,
    errors=1,
)
async def held(tools: Tools) -> None:
    await tools.run("python3 -u -m http.server 0 --bind 127.0.0.1", until="Serving")
    told = await tools.run("echo hi", max_wait_ms=300)
    await tools.send("Ctrl-C", wait=True, view="output")
    ran = await tools.run("echo hi")
    assert "python3 (pid" in told["error"]["message"]
    assert ran["output"] == "hi"
