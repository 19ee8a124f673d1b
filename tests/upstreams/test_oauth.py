"""Upstreams that ask for a sign-in: a person signs in once, in a browser; everything else goes by itself."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthFlowError

from duetty.errors import (
    BadArguments,
    BadSetting,
    DuettyError,
    UpstreamNeedsLogin,
    UpstreamUnavailable,
)
from duetty.upstreams import Upstreams
from duetty.upstreams.oauth import _check  # pyright: ignore[reportPrivateUsage]
from duetty.upstreams.upstream_settings import as_toml, parse_order
from tests.server_process import running_server
from tests.upstreams.oauth_server import MOST_FLOODED, SignInServer, sign_in_server
from tests.upstreams.running import Home, trusted, until
from tests.upstreams.test_server import as_agent, settled


@pytest.fixture
def elsewhere() -> Iterator[SignInServer]:
    with sign_in_server() as started:
        yield started


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def sent_to(page: str) -> str:
    """Where a browser goes from the sign-in page."""
    async with httpx2.AsyncClient() as browser:
        return (await browser.get(page, follow_redirects=False)).headers["location"]


async def sign_in(upstreams: Upstreams) -> str:
    page = await upstreams.begin_login("it")
    async with httpx2.AsyncClient() as browser:
        end = await browser.get(await sent_to(page))
    assert "close this window" in end.text
    await until(upstreams, lambda: upstreams.find("it").link is not None)
    return page


async def test_without_a_person_nothing_is_registered_and_the_error_says_what_a_person_does(
    home: Home, elsewhere: SignInServer
) -> None:
    async with home.running(it=elsewhere.table()) as upstreams:
        assert upstreams.find("it").state == "needs_login"
        with pytest.raises(UpstreamNeedsLogin) as told:
            await upstreams.call("it", "look", {})

    assert "person" in told.value.message
    assert "duetty upstreams login it" in str(told.value.hint)
    assert elsewhere.registered == 0


async def test_who_signed_in_once_is_known_from_then_on(
    home: Home, elsewhere: SignInServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with home.running(it=elsewhere.table()) as upstreams:
        await sign_in(upstreams)
        await trusted(upstreams)
        assert (await upstreams.call("it", "look", {}))["content"][0]["text"] == "done"
    async with home.running(it=elsewhere.table()) as upstreams:
        assert upstreams.find("it").state == "ready"
        await upstreams.call("it", "look", {})

    assert elsewhere.grants == ["authorization_code"]
    (file,) = (home.directory / "logins").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    tokens = [*elsewhere.valid, *elsewhere.renewals]
    assert tokens[0] in file.read_text()
    assert not [each for each in tokens if each in caplog.text]


async def test_a_token_that_ran_out_is_renewed_unasked_and_one_that_cannot_be_waits_for_a_person(
    home: Home, elsewhere: SignInServer
) -> None:
    async with home.running(it=elsewhere.table()) as upstreams:
        await sign_in(upstreams)
        upstream = await trusted(upstreams)
        elsewhere.valid.clear()
        await upstreams.call("it", "look", {})
        assert elsewhere.grants == ["authorization_code", "refresh_token"]

        elsewhere.valid.clear()
        elsewhere.renewals.clear()
        with pytest.raises(UpstreamNeedsLogin):
            await upstreams.call("it", "look", {})
        await until(upstreams, lambda: upstream.state == "needs_login")
        # A model still sees what there is, and hears from a call what is missing.
        assert [tool.name for tool in upstreams.usable()] == ["look", "write"]

        await sign_in(upstreams)
        await upstreams.call("it", "look", {})


async def test_a_token_that_ran_out_while_nobody_ran_is_renewed_at_the_next_start(
    home: Home, elsewhere: SignInServer
) -> None:
    async with home.running(it=elsewhere.table()) as upstreams:
        await sign_in(upstreams)
        await trusted(upstreams)
    elsewhere.valid.clear()
    async with home.running(it=elsewhere.table()) as upstreams:
        await upstreams.call("it", "look", {})

    assert elsewhere.grants == ["authorization_code", "refresh_token"]


async def test_a_call_that_needs_more_fails_alone_and_the_next_sign_in_asks_for_it(
    home: Home, elsewhere: SignInServer
) -> None:
    async with home.running(it=elsewhere.table()) as upstreams:
        await sign_in(upstreams)
        await trusted(upstreams)
        with pytest.raises(UpstreamNeedsLogin, match="for more than before"):
            await upstreams.call("it", "write", {})
        await upstreams.call("it", "look", {})
        assert upstreams.find("it").state == "ready"

        before = upstreams.find("it")
        page = await upstreams.begin_login("it")
        upstreams.end_login("it", await sent_to(page))
        await until(upstreams, lambda: upstreams.find("it") is not before)
        await upstreams.call("it", "write", {})

    assert parse_qs(urlsplit(page).query)["scope"] == ["read write"]


async def test_who_does_not_know_the_question_cannot_answer_it(
    home: Home, elsewhere: SignInServer
) -> None:
    async with home.running(it=elsewhere.table()) as upstreams:
        with pytest.raises(BadArguments):
            upstreams.end_login("it", "http://127.0.0.1/callback?code=x&state=y")
        page = await upstreams.begin_login("it")
        back = urlsplit(await sent_to(page))
        forged = (
            f"{back.scheme}://{back.netloc}{back.path}?{urlencode({'code': 'evil', 'state': 'y'})}"
        )
        async with httpx2.AsyncClient() as browser:
            assert (await browser.get(forged)).status_code == 404
        with pytest.raises(BadArguments):
            upstreams.end_login("it", forged)
        assert elsewhere.grants == []
        # Pasted from a browser on another machine.
        upstreams.end_login("it", back.geturl())
        await until(upstreams, lambda: upstreams.find("it").link is not None)


async def test_a_sign_in_that_is_refused_is_told_and_can_be_tried_again(
    home: Home, elsewhere: SignInServer
) -> None:
    async with home.running(it=elsewhere.table()) as upstreams:
        page = await upstreams.begin_login("it")
        state = parse_qs(urlsplit(page).query)["state"][0]
        upstreams.end_login("it", f"http://x/?{urlencode({'error': 'denied', 'state': state})}")
        await until(upstreams, lambda: "denied" in str(upstreams.find("it").error))
        assert isinstance(upstreams.find("it").error, UpstreamNeedsLogin)
        await sign_in(upstreams)


async def test_metadata_that_never_end_are_given_up_whatever_they_call_themselves(
    home: Home, elsewhere: SignInServer
) -> None:
    elsewhere.floods = True
    async with home.running(it=elsewhere.table()) as upstreams:
        with pytest.raises(DuettyError):
            await upstreams.begin_login("it")

    assert elsewhere.flooded < MOST_FLOODED


async def test_nothing_is_sent_in_the_open_wherever_an_upstream_leads(
    home: Home, elsewhere: SignInServer
) -> None:
    elsewhere.signs_in_at = "http://192.0.2.1"
    async with home.running(it=elsewhere.table()) as upstreams:
        with pytest.raises(UpstreamUnavailable, match=r"192\.0\.2\.1 without https"):
            await upstreams.begin_login("it")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_who_is_elsewhere_leads_to_no_service_of_this_machine(host: str) -> None:
    here = httpx2.URL(f"https://{host}:8443/token")

    with pytest.raises(OAuthFlowError, match="leads to this machine"):
        _check(here, httpx2.URL("https://mcp.example/mcp"))
    _check(here, httpx2.URL("http://127.0.0.1:1/mcp"))
    _check(httpx2.URL("https://auth.example/token"), httpx2.URL("https://mcp.example/mcp"))


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((400, {"error": "invalid_grant", "access_token": "hush-1"}), "invalid_grant"),
        ((202, {"access_token": "hush-2", "token_type": "Bearer"}), "202"),
        ((200, {"access_token": ["hush-3"], "token_type": "Bearer"}), "Invalid token response"),
    ],
)
async def test_why_a_sign_in_failed_is_told_without_what_was_answered(
    home: Home,
    elsewhere: SignInServer,
    answer: tuple[int, dict[str, Any]],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def token(_given: object) -> tuple[int, dict[str, Any]]:
        return answer

    monkeypatch.setattr(elsewhere, "token", token)
    async with home.running(it=elsewhere.table()) as upstreams:
        page = await upstreams.begin_login("it")
        upstreams.end_login("it", await sent_to(page))
        await until(upstreams, lambda: reason in str(upstreams.find("it").error))

        assert "hush" not in str(upstreams.find("it").error) + caplog.text


async def test_a_client_of_the_table_is_shown_to_no_other_sign_in_server(
    home: Home, elsewhere: SignInServer
) -> None:
    home.environment["SECRET"] = "hunter2"
    table = elsewhere.table(oauth={"client_id": "mine", "client_secret": "${SECRET}"})
    async with home.running(it=table) as upstreams:
        await sign_in(upstreams)
    with sign_in_server() as other:
        elsewhere.signs_in_at = other.base
        elsewhere.valid.clear()
        elsewhere.renewals.clear()
        async with home.running(it=table) as upstreams:
            with pytest.raises(UpstreamUnavailable, match="another sign-in server"):
                await upstreams.begin_login("it")

        assert (other.asked_scopes, other.grants) == ([], [])


async def test_another_address_under_the_same_name_gets_no_token_of_the_first(
    home: Home, elsewhere: SignInServer
) -> None:
    async with home.running(it=elsewhere.table()) as upstreams:
        await sign_in(upstreams)
    with sign_in_server() as other:
        other.valid = elsewhere.valid
        async with home.running(it=other.table()) as upstreams:
            assert upstreams.find("it").state == "needs_login"


@pytest.mark.parametrize(
    ("oauth", "reason"),
    [
        ({"scope": "read"}, "no 'scope'"),
        ({"client_id": "x", "client_secret": "hunter2"}, "stands in the file"),
        ({"client_secret": "${SECRET}"}, "client_id is missing"),
        ({"client_id": "x", "grant": "client_credentials"}, "need oauth.client_secret"),
        ({"grant": "password"}, "authorization_code or client_credentials"),
        ({"client_metadata_url": "http://x/y"}, "must be https"),
        ({"redirect_port": 80}, "above 1023"),
        ("yes", "must be a table"),
    ],
)
def test_a_wrong_table_is_refused_with_the_reason(oauth: object, reason: str) -> None:
    with pytest.raises(BadSetting, match=reason) as told:
        parse_order("it", {"url": "https://x.example/mcp", "oauth": oauth}, where=lambda *_: "file")
    assert "hunter2" not in str(told.value)


def test_a_token_and_a_sign_in_do_not_go_together() -> None:
    table: dict[str, object] = {"url": "https://x.example/mcp", "token_env": "T", "oauth": {}}
    with pytest.raises(BadSetting, match="not both"):
        parse_order("it", table, where=lambda *_: "file")


@pytest.mark.pty
def test_a_person_signs_in_from_the_command_line_and_an_agent_cannot(
    tmp_path: Path, elsewhere: SignInServer
) -> None:
    (tmp_path / "config.toml").write_text(as_toml("it", elsewhere.table()), encoding="utf-8")
    with running_server(tmp_path) as server:
        assert settled(server, "it")["state"] == "needs_login"
        status, refused = as_agent(server, server.token(), "/upstreams/it/login", {})
        status_of_call, told = as_agent(
            server, server.token(), "/upstreams/it/call", {"tool": "look", "arguments": {}}
        )
        login = subprocess.Popen(
            [sys.executable, "-m", "duetty", "upstreams", "login", "it", "--no-browser"],
            env=server.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert login.stderr is not None
        page = next(line.strip() for line in login.stderr if "/authorize?" in line)
        httpx2.get(httpx2.get(page, follow_redirects=False).headers["location"])
        out, _ = login.communicate(timeout=60)
        log = server.paths.log_file.read_text()
        kept = server.paths.state / "upstream-logins"
        assert (kept / "it.json").exists()
        assert server.command("upstreams", "remove", "it").returncode == 0

    assert (status, refused["error"]["code"]) == (403, "not_a_person")
    assert told["error"]["code"] == "upstream_needs_login"
    assert "duetty upstreams login it" in told["error"]["hint"]
    assert status_of_call == 503
    assert login.returncode == 0
    assert "it is quarantined; 2 tools wait" in out
    assert not [each for each in (*elsewhere.valid, *elsewhere.renewals) if each in log]
    assert list(kept.iterdir()) == []
