"""The workspace: what is the agent's to change runs unasked, the rest asks."""

from dataclasses import replace

import pytest

from duetty.policy import Allow, Ask, Profile, RuleSet, decide
from tests.policy.labelled import decided, judged

HERE = "/work/app"

OWN = """
rm -rf build
rm -rf ./old src/gen
rm -rf /work/app/src
rm -rf src/../dist
rm -rf build/* src/*.o
rm -f *.pyc
rm -rf *.egg-info **/__pycache__
rm sanitize_api_keys.sh .env id_rsa
rm -f .git/index.lock
rm -rf {a,b}
rm -rf "build/$name" "build-$name"
rm -rf /tmp/x /var/tmp/y/z
D=$(mktemp -d); rm -rf "$D"
apt-get clean && rm -rf /var/lib/apt/lists/*
D=build; rm -rf "$D"
cd src && rm -rf gen
cd /work/app/src; rm -rf ../build
(cd /etc && cat hosts); rm -rf build
cd src && rm -rf gen && cd .. && rm -f x
mv src/a.py src/b.py
mv /opt/a.txt .
: > notes.txt
truncate -s 0 app.log
chmod -R 755 src
chown -R me src/gen
find . -name '*.pyc' -delete
find . -type d -name __pycache__ -exec rm -rf {} +
find build -type f -delete
find . -type f -exec chmod 644 {} +
rsync -a --delete a/ b/
sed -i s/a/b/ src/x.py
cp x y; cp -r a/ b/
sudo rm -rf build
python3 -c 'import shutil; shutil.rmtree("build")'
python3 -c 'import os; os.remove("/tmp/x/y")'
""".strip().splitlines()

NOT_OWN = """
rm -rf .
rm -rf ./*
rm -rf *
rm -rf .*
rm -rf ..
rm -rf /work/app
rm -rf /work/app/
rm -rf src/..
rm -rf src/../..
rm -rf ../other
rm -rf /work/other
rm -rf /work/apple
rm -rf /
rm -rf ~
rm -rf ~/x
rm notes.txt ~/notes.txt
rm -rf .git
rm -rf sub/.git
rm -rf .git/refs
rm -rf /tmp
rm -rf /tmp/*
rm -rf /var/lib/dpkg /var/cache
rm -rf "$DIR"
rm -rf $DIR/x
rm -rf ./$x
rm -f $FILES
rm -rf !(keep)
cd .. && rm -rf x
cd /etc && rm -rf x
cd "$D" && rm -rf x
cd - && rm -rf x
cd && rm -rf Documents
cd; rm notes.txt
pushd src; popd; rm -rf x
find . -delete
find . -name '*' -delete
find / -name '*.pyc' -delete
find .. -name '*.pyc' -delete
find . -type f -exec cp /dev/null {} ';'
ls | xargs rm
mv .git /tmp/x
mv /work/app /tmp/x
mv /etc /etc.bak
chmod -R 755 .
chmod -R 777 /var
chown -R me ..
: > /opt/app/notes.txt
: > app.db
rsync -a --delete a/ /srv/
ssh host rm -rf build
docker exec c rm -rf /tmp/x
python3 -c 'import shutil; shutil.rmtree("/work/app")'
python3 -c 'import os; os.remove("/work/other/x")'
python3 -c 'from pathlib import Path; Path("/work/other/x").unlink()'
""".strip().splitlines()


@pytest.mark.parametrize("line", OWN)
def test_what_is_within_the_workspace_runs_unasked(line: str) -> None:
    assert isinstance(decided(line, Profile.GUARDED, cwd=HERE, workspace=HERE), Allow)


@pytest.mark.parametrize("line", NOT_OWN)
def test_the_workspace_itself_and_what_is_outside_asks(line: str) -> None:
    assert isinstance(decided(line, Profile.GUARDED, cwd=HERE, workspace=HERE), Ask)


@pytest.mark.parametrize("line", ["rm -rf x", "rm x", "find . -name '*.o' -delete", "rm -f *.o"])
def test_a_directory_outside_the_workspace_is_nobodys(line: str) -> None:
    assert isinstance(decided(line, Profile.GUARDED, cwd=HERE, workspace=HERE), Allow)
    assert isinstance(decided(line, Profile.GUARDED, cwd="/work", workspace=HERE), Ask)


def test_the_directory_of_a_call_does_not_widen_its_workspace() -> None:
    assert isinstance(
        decided("rm -rf ../b", Profile.GUARDED, cwd=f"{HERE}/a", workspace=HERE), Allow
    )
    assert isinstance(decided("rm -rf ../b", Profile.GUARDED, cwd=HERE, workspace=HERE), Ask)


def test_without_a_workspace_relative_paths_are_within_one_that_is_not_known() -> None:
    for line in ("rm -rf node_modules", "rm -rf ./dist", "rm old.txt"):
        assert isinstance(decided(line, Profile.GUARDED), Allow)
    for line in ("rm -rf .", "rm -rf ./*", "rm -rf ..", "rm -rf /work/app/dist", "rm -rf .git"):
        assert isinstance(decided(line, Profile.GUARDED), Ask)


def test_a_home_is_known_where_the_workspace_is_below_it() -> None:
    app = "/home/me/app"

    assert isinstance(decided("rm -rf ~/app/build", Profile.GUARDED, cwd=app, workspace=app), Allow)
    assert isinstance(decided("rm -rf ~/other", Profile.GUARDED, cwd=app, workspace=app), Ask)


@pytest.mark.parametrize("home", ["/tmp/x/home", "/var/lib/me", "/data/me"])
def test_a_home_that_is_not_where_homes_are_is_known_too(home: str) -> None:
    app = f"{home}/app"

    def decision(line: str, cwd: str = app, workspace: str = app) -> object:
        call = replace(judged(line, cwd=cwd, workspace=workspace), home=home)
        return decide(call, RuleSet(), Profile.GUARDED, can_ask=True)

    for line in (
        "rm -rf ~/app/build",
        "cd ~/app && rm -rf build",
        f"rm -rf $HOME/app/build {app}/x",
    ):
        assert isinstance(decision(line), Allow)
    for line in (
        f"rm -rf {home}",
        f"rm -rf {home}/*",
        "rm -rf ~",
        "rm -rf ~/photos",
        f"rm {home}/x",
    ):
        assert isinstance(decision(line), Ask)
    assert isinstance(decision("rm -rf photos", cwd=home, workspace=""), Ask)
    assert isinstance(decision("rm -rf /tmp/other"), Allow)


CRITICAL = """
echo x >> /etc/hosts
cp x /etc/sudoers.d/x
tee -a /etc/passwd <<< x
cat > /etc/cron.d/x <<'E'⏎* * * * * root x⏎E
cat > ~/.bashrc <<'E'⏎x⏎E
cat > .git/hooks/pre-commit <<'E'⏎x⏎E
cat >> ~/.ssh/authorized_keys <<'E'⏎x⏎E
cat > /etc/systemd/system/x.service <<'E'⏎x⏎E
cp x /usr/bin/x
cp x /etc/profile.d/
cat x.img > /dev/sda
ln -sf /tmp/x /usr/local/bin/git
cp x /boot/
""".strip().splitlines()

APPLICATION = """
cat > /etc/nginx/conf.d/site.conf <<'E'⏎server { listen 80; }⏎E
cat > /root/.jupyter/jupyter_config.py <<'E'⏎c = get_config()⏎E
cat > /app/x.py <<'E'⏎import os; os.system("rm -rf /")⏎E
cp x /etc/x
cp x /usr/local/bin/tool
cp x.py /usr/local/lib/python3.13/site-packages/x.py
openssl req -x509 -keyout /root/my.key -out /root/my.pem
echo x > /opt/app/config.json
echo x >> /var/log/app.log
""".strip().splitlines()


@pytest.mark.parametrize("line", CRITICAL)
def test_what_the_system_or_others_depend_on_asks(line: str) -> None:
    line = line.replace("⏎", "\n")

    assert isinstance(decided(line, Profile.GUARDED, cwd=HERE, workspace=HERE), Ask)


@pytest.mark.parametrize("line", APPLICATION)
def test_an_applications_own_settings_do_not_ask(line: str) -> None:
    line = line.replace("⏎", "\n")

    assert isinstance(decided(line, Profile.GUARDED, cwd=HERE, workspace=HERE), Allow)
