"""What is built and shipped: within its budget, of layers that hold, from types that are current."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, cast

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient
from tools.generate_page_types import (
    MESSAGES_FILE,
    OPERATIONS_FILE,
    message_types,
    operation_types,
)

from duetty.edges.web import POLICY, PageApp
from duetty.edges.web.page import BUILT, load_files
from duetty.errors import AuthRequired, OriginNotAllowed

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"

SHELL_BYTES = 25 * 1024
STYLE_BYTES = 8 * 1024
TERMINAL_BYTES = 115 * 1024


@pytest.fixture
def built() -> dict[str, Any]:
    if not (BUILT / "meta.json").exists():
        pytest.skip("the page is not built: make page")
    return cast(dict[str, Any], json.loads((BUILT / "meta.json").read_text()))


def loaded_with(built: dict[str, Any], file: str, seen: set[str] | None = None) -> set[str]:
    """A file and everything that it imports at once."""
    found = set[str]() if seen is None else seen
    if file not in found:
        found.add(file)
        for each in built["sizes"][file]["imports"]:
            if each["kind"] == "import-statement":
                loaded_with(built, each["file"], found)
    return found


def gzip_bytes(built: dict[str, Any], files: set[str]) -> int:
    return sum(built["sizes"][each]["gzip"] for each in files)


def test_the_shell_fits_its_budget(built: dict[str, Any]) -> None:
    shell = loaded_with(built, built["shell"]["script"])

    assert gzip_bytes(built, shell) <= SHELL_BYTES
    assert gzip_bytes(built, {built["shell"]["style"]}) <= STYLE_BYTES


def test_opening_a_terminal_fits_its_budget(built: dict[str, Any]) -> None:
    shell = loaded_with(built, built["shell"]["script"])
    session = next(
        name for name, each in built["sizes"].items() if each["entry"] == "src/screens/Session.tsx"
    )

    assert gzip_bytes(built, loaded_with(built, session) - shell) <= TERMINAL_BYTES


@pytest.mark.parametrize("builder", [WheelBuilder, SdistBuilder])
def test_wheel_and_sdist_carry_the_page_and_nothing_that_npm_installed(
    built: dict[str, Any], builder: type[WheelBuilder] | type[SdistBuilder]
) -> None:
    names = {str(each.distribution_path) for each in builder(str(ROOT)).recurse_included_files()}

    place = "duetty/edges/web/built" if builder is WheelBuilder else "src/duetty/edges/web/built"
    wanted = {f"{place}/index.html", *(f"{place}/assets/{each}" for each in built["sizes"])}
    assert wanted <= names
    assert not [each for each in names if "node_modules" in each]


def test_layers_of_the_page_hold(built: dict[str, Any]) -> None:
    """State knows no screen, small parts know no server, and only `terminal` knows xterm."""
    wrong = [
        f"{name} imports {imported}"
        for name, imports in built["imports"].items()
        for imported in imports
        if (
            name.startswith("src/state/")
            and imported.startswith(("src/ui/", "src/screens/", "src/terminal/"))
        )
        or (
            name.startswith("src/ui/")
            and imported.startswith(
                ("src/protocol/", "src/state/", "src/screens/", "src/terminal/")
            )
        )
        or (
            name.startswith("src/protocol/")
            and imported.startswith(("src/state/", "src/ui/", "src/screens/", "src/terminal/"))
        )
        or (
            "@xterm/" in imported
            and name.startswith("src/")
            and not name.startswith(("src/terminal/", "src/main.tsx"))
        )
    ]

    assert wrong == []


def test_types_of_operations_are_those_of_the_table() -> None:
    assert OPERATIONS_FILE.read_text(encoding="utf-8") == operation_types(), "run `make docs`"


def test_types_of_messages_are_those_of_the_server() -> None:
    assert MESSAGES_FILE.read_text(encoding="utf-8") == message_types(), "run `make docs`"


def test_one_module_alone_reaches_into_xterm() -> None:
    reaching = [
        path.name for path in (WEB / "src").rglob("*.ts*") if "_core" in path.read_text("utf-8")
    ]

    assert reaching == ["xterm_cells.ts"]


def test_the_lock_pins_every_package_and_names_no_registry() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text())
    packages = {name: each for name, each in lock["packages"].items() if name}

    assert [name for name, each in packages.items() if "integrity" not in each] == []
    assert [name for name, each in packages.items() if "resolved" in each] == []


@pytest.mark.skipif(
    shutil.which("npm") is None or not (WEB / "node_modules/.bin/tsc").exists(),
    reason="needs npm and the page's packages: make page",
)
def test_the_page_passes_the_type_checker() -> None:
    checked = subprocess.run(
        ["npm", "run", "--silent", "check"], cwd=WEB, capture_output=True, text=True, check=False
    )

    assert checked.returncode == 0, checked.stdout


def client_of(app: PageApp) -> TestClient:
    return TestClient(ExceptionMiddleware(app), base_url="http://127.0.0.1")


def admit(request: Request) -> None:
    pass


def refuse(error: Exception) -> Response:
    return Response(str(error), status_code=403)


def files_in(directory: Path) -> PageApp:
    (directory / "assets").mkdir()
    (directory / "index.html").write_text(
        '<html data-signed="%SIGNED%"><script src="%BASE%assets/main-1.js"></script>'
    )
    (directory / "assets/main-1.js").write_text("work();" * 1000)
    (directory / "stamp").write_text("x")
    return PageApp(check=admit, admit=admit, refuse=refuse, files=load_files(directory))


def test_a_server_without_the_built_page_says_how_to_build_it() -> None:
    answer = client_of(PageApp(check=admit, admit=admit, refuse=refuse, files={})).get(
        "/ui/anything"
    )

    assert answer.status_code == 200
    assert "make page" in answer.text


def test_every_place_in_the_page_is_the_page_and_finds_its_files(tmp_path: Path) -> None:
    client = client_of(files_in(tmp_path))

    assert 'src="ui/assets/main-1.js"' in client.get("/ui").text
    assert 'src="assets/main-1.js"' in client.get("/ui/").text
    assert 'src="../assets/main-1.js"' in client.get("/ui/s/name").text
    assert client.get("/ui/s/name").headers["content-security-policy"] == POLICY


def test_files_with_a_hash_in_their_name_are_kept_and_sent_packed(tmp_path: Path) -> None:
    client = client_of(files_in(tmp_path))

    answer = client.get("/ui/assets/main-1.js")
    again = client.get("/ui/assets/main-1.js", headers={"if-none-match": answer.headers["etag"]})

    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/javascript")
    assert again.status_code == 304
    assert "no-store" in client.get("/ui/").headers["cache-control"]


def test_a_file_that_is_gone_is_not_answered_with_the_page(tmp_path: Path) -> None:
    client = client_of(files_in(tmp_path))

    assert client.get("/ui/assets/main-0.js").status_code == 404
    assert client.get("/ui/stamp").text != "x"
    assert client.post("/ui/").status_code == 405


def test_another_name_for_this_server_gets_nothing(tmp_path: Path) -> None:
    def check(request: Request) -> None:
        raise OriginNotAllowed("not a name of ours")

    app = PageApp(check=check, admit=admit, refuse=refuse, files=load_files(tmp_path))

    assert client_of(app).get("/ui/").status_code == 403


def test_whether_a_browser_is_signed_in_is_told_and_never_refused(tmp_path: Path) -> None:
    def admit(request: Request) -> None:
        if "cookie" not in request.headers:
            raise AuthRequired("nobody")

    files_in(tmp_path)
    app = PageApp(check=lambda _: None, admit=admit, refuse=refuse, files=load_files(tmp_path))
    client = client_of(app)

    for headers, told, marked in (({}, False, ""), ({"cookie": "duetty=x"}, True, "in")):
        answer = client.get("/ui/signed-in", headers=headers)
        page = client.get("/ui/s/name", headers=headers)
        assert (answer.status_code, answer.json(), page.status_code) == (200, told, 200)
        assert f'data-signed="{marked}"' in page.text
        assert answer.headers["cache-control"] == page.headers["cache-control"] == "no-store"
