"""By which names the server may be called, and whose pages may call it."""

import pytest

from duetty.edges.http import origins
from duetty.errors import BadSetting

OWN = origins(
    scheme="http",
    port=9315,
    names=("localhost", "127.0.0.1", "::1"),
    further=("term.example.org", "box:8443"),
    listed=("https://app.example",),
)
LOCAL = ("192.168.1.7", 9315)


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("localhost:9315", True),
        ("LOCALHOST:9315", True),
        ("[::1]:9315", True),
        ("192.168.1.7:9315", True),
        ("term.example.org", True),
        ("term.example.org:9315", True),
        ("box:8443", True),
        ("box", False),
        ("localhost", False),
        ("localhost:9316", False),
        ("192.168.1.8:9315", False),
        ("localhost:9315.evil", False),
        ("evil.example:9315", False),
        ("127.0.0.1:9315@evil.example", False),
        ("", False),
    ],
)
def test_a_host_is_ours_or_it_is_not(host: str, is_own: bool) -> None:
    assert OWN.is_own_host(host, LOCAL) is is_own


def test_the_port_may_be_left_out_only_where_it_is_the_schemes_own() -> None:
    web = origins(scheme="http", port=80, names=("localhost",))
    tls = origins(scheme="https", port=443, names=("localhost",))

    assert web.is_own_host("localhost", None)
    assert tls.is_own_host("localhost", None)
    assert web.is_own("http://localhost", "localhost")
    assert not tls.is_own("http://localhost", "localhost")


@pytest.mark.parametrize(
    ("origin", "is_own"),
    [
        ("http://localhost:9315", True),
        ("http://127.0.0.1:9315", True),
        ("https://localhost:9315", False),
        ("https://term.example.org", True),
        ("http://localhost:9316", False),
        ("http://localhost:9315/", False),
        ("http://localhost:9315.evil.example", False),
        ("https://app.example", False),
        ("null", False),
        ("", False),
    ],
)
def test_a_page_is_ours_or_it_is_not(origin: str, is_own: bool) -> None:
    assert OWN.is_own(origin, "localhost:9315") is is_own


def test_a_listed_page_is_listed_exactly() -> None:
    assert OWN.is_listed("https://app.example")
    assert not OWN.is_listed("https://app.example.evil")
    assert not OWN.is_listed("http://app.example")
    assert not OWN.is_listed("*")


@pytest.mark.parametrize("name", ["", "a/b", "http://x", "a b", "*.example", "x:port"])
def test_a_further_name_must_be_one(name: str) -> None:
    with pytest.raises(BadSetting):
        origins(scheme="http", port=1, names=(), further=(name,))
