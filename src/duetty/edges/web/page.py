"""The page's files, read once and served from memory.

Knows nothing of sessions: the page asks for everything it shows by the WebSocket, and the files carry no secret.
So they are served to every client that may connect at all, and the page itself shows how to sign in.

The page learns whether that is needed before it asks for anything else: a browser writes every refused request into its
console, and a page that is signed out has done nothing wrong.
"""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from duetty.errors import DuettyError

BUILT = Path(__file__).parent / "built"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; font-src 'self'; manifest-src 'self'; worker-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""What the page may load. xterm writes its colours as inline style; scripts come from files only."""

NOT_BUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Duetty</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:10vh auto;padding:0 1rem;color-scheme:light dark}
pre{padding:.8rem 1rem;border:1px solid;border-radius:.5rem;overflow:auto}</style>
<h1>Duetty runs here, without its page</h1>
<p>The browser page is built when Duetty is installed, and this installation was made without it.
In a checkout of the source, build it with</p>
<pre>make page</pre>
<p>and start the server again. It needs npm's registry once; Node 20 or newer from this machine, else PyPI brings it.</p>
<p>Everything else works: <code>duetty list</code>, <code>duetty run -- echo hello</code>,
<a href="/sessions">/sessions</a>, <a href="/server/info">/server/info</a>.</p>
</html>
"""

SIGNED_IN = "signed-in"
"""Below /ui/: `true` or `false`, for a request with a token or a cookie. Never a refusal."""

UNKEPT = {"cache-control": "no-store"}
"""For what differs with who asks: a browser that goes back must not find what was true once."""

COMPRESS_BYTES = 1024
"""Smaller files are not worth it."""

UNFINISHED = frozenset({"meta.json", "stamp"})
"""Of the build, not of the page."""

KINDS = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".webmanifest": "application/manifest+json",
}
"""Not the machine's own table, which differs from one to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    body: bytes
    packed: bytes | None
    """The same with gzip, where that is smaller."""

    kind: str
    tag: str
    lasting: bool
    """Its name changes with its content, so it may be kept for ever."""


def load_files(directory: Path = BUILT) -> dict[str, File]:
    """Every file of the built page by its name below /ui/; none when it was not built."""
    if not (directory / "index.html").exists():
        return {}
    return {
        name: _file(path.read_bytes(), name)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and (name := path.relative_to(directory).as_posix()) not in UNFINISHED
    }


def _file(body: bytes, name: str) -> File:
    kind = KINDS.get(PurePosixPath(name).suffix, "application/octet-stream")
    packed = gzip.compress(body, 9, mtime=0) if len(body) >= COMPRESS_BYTES else None
    return File(
        body=body,
        packed=packed if packed is not None and len(packed) < len(body) else None,
        kind=f"{kind}; charset=utf-8" if kind.startswith("text/") else kind,
        tag=f'"{sha256(body).hexdigest()[:16]}"',
        lasting=name.startswith("assets/"),
    )


class PageApp:
    """Answers GET for `/ui` and everything below it.

    A name that is no file is a place in the page, which finds its own way from there.
    """

    def __init__(
        self,
        *,
        check: Callable[[Request], object],
        admit: Callable[[Request], object],
        refuse: Callable[[DuettyError], Response],
        files: Mapping[str, File] | None = None,
    ) -> None:
        """`check` raises for a request that may not come from where it says, `admit` for one without a credential.

        `refuse` words the answer to the first; the second is shown how to sign in.
        """
        self._check = check
        self._admit = admit
        self._refuse = refuse
        self._given = files

    @cached_property
    def _files(self) -> Mapping[str, File]:
        """Read and packed for the first browser: an agent's host waits for the start, and shows no page."""
        return load_files() if self._given is None else self._given

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            self._check(request)
        except DuettyError as error:
            await self._refuse(error)(scope, receive, send)
            return
        await self._answer(request)(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        headers = {"content-security-policy": POLICY, "cache-control": "no-cache"}
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"allow": "GET, HEAD"})
        name = str(request.scope["path"]).removeprefix("/ui").removeprefix("/")
        if not self._files:
            return Response(NOT_BUILT, media_type="text/html", headers=headers)
        if name == SIGNED_IN:
            known = b"true" if self._is_signed_in(request) else b"false"
            return Response(known, media_type="application/json", headers=headers | UNKEPT)
        file = self._files.get(name)
        if file is None and name.startswith("assets/"):
            raise HTTPException(404, "no such file: reload the page")
        if file is None or name == "index.html":
            body = self._files["index.html"].body.replace(b"%BASE%", _way_up(request).encode())
            known = b"in" if self._is_signed_in(request) else b""
            body = body.replace(b"%SIGNED%", known)
            return Response(body, media_type="text/html", headers=headers | UNKEPT)
        return _sent(file, request, headers)

    def _is_signed_in(self, request: Request) -> bool:
        try:
            self._admit(request)
        except DuettyError:
            return False
        return True


def _way_up(request: Request) -> str:
    """Relative, so that a proxy may put the whole server below any path."""
    below = str(request.scope["path"]).removeprefix("/ui")
    return "ui/" if not below else "../" * (below.count("/") - 1)


def _sent(file: File, request: Request, headers: dict[str, str]) -> Response:
    headers |= {"etag": file.tag, "vary": "accept-encoding"}
    if file.lasting:
        headers["cache-control"] = "public, max-age=31536000, immutable"
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    if file.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(
            file.packed, media_type=file.kind, headers=headers | {"content-encoding": "gzip"}
        )
    return Response(file.body, media_type=file.kind, headers=headers)
