"""A wire between browser and server that can be cut and mended."""

import selectors
import socket
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit


class Cutter:
    """A TCP proxy on loopback. What the browser says of the proxy's port is said of the server's."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "", parts.port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._theirs = f"127.0.0.1:{port}".encode()
        self._ours = f"{self._target[0]}:{self._target[1]}".encode()
        self._peers: dict[socket.socket, socket.socket] = {}
        self._browser_side: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_cut = False
        self._ended = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(5)
        with self._lock:
            for each in list(self._peers):
                self._drop(each)
        self._selector.close()
        self._listener.close()

    def cut(self) -> None:
        """Every connection breaks, and new ones are refused until it is mended."""
        with self._lock:
            self._is_cut = True
            for each in list(self._peers):
                self._drop(each)

    def mend(self) -> None:
        with self._lock:
            self._is_cut = False

    def _run(self) -> None:
        while not self._ended.is_set():
            for key, _ in self._selector.select(0.05):
                assert isinstance(key.fileobj, socket.socket)
                with self._lock:
                    if key.fileobj is self._listener:
                        self._accept()
                    else:
                        self._pass_on(key.fileobj)

    def _accept(self) -> None:
        browser, _ = self._listener.accept()
        if self._is_cut:
            browser.close()
            return
        server = socket.create_connection(self._target)
        self._peers |= {browser: server, server: browser}
        self._browser_side.add(browser)
        for each in (browser, server):
            self._selector.register(each, selectors.EVENT_READ)

    def _pass_on(self, source: socket.socket) -> None:
        peer = self._peers.get(source)
        if peer is None:
            return
        try:
            data = source.recv(65536)
            if not data:
                self._drop(source)
                return
            peer.sendall(
                data.replace(self._theirs, self._ours)
                if source in self._browser_side
                else data.replace(self._ours, self._theirs)
                if data.startswith(b"HTTP/1.1 30")
                else data
            )
        except OSError:
            self._drop(source)

    def _drop(self, one: socket.socket) -> None:
        for each in (one, self._peers.pop(one, None)):
            if each is None:
                continue
            self._peers.pop(each, None)
            self._browser_side.discard(each)
            with suppress(KeyError, ValueError):
                self._selector.unregister(each)
            each.close()
