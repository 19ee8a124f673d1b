"""The API as a page for people: made from the OpenAPI document, whole, with no script."""

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from duetty.edges.http.openapi import BODY_SERVER_FIELD, SERVER_FIELD, Json, document

STYLE = """
:root { color-scheme: light dark;
  --paper: #fbfbfa; --ink: #1d2127; --soft: #5d6570; --line: #e1e4e8; --card: #ffffff; --code: #f2f3f5; --link: #1f5fbf;
  --get: #1f6feb; --post: #1a7f47; --put: #9a5b00; --patch: #7a4fd0; --delete: #c0362c; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14171c; --ink: #e3e7ed; --soft: #99a2b0; --line: #2a3039; --card: #1a1e25; --code: #222832; --link: #7fb2ff;
  --get: #6cabff; --post: #5ccb8b; --put: #e2ad5a; --patch: #b79bff; --delete: #ff8a80; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 1rem; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 4px; }
code, .path, .kind { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .88em; }
code { background: var(--code); padding: .1em .35em; border-radius: 4px; overflow-wrap: anywhere; }
.frame { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 82rem; margin: 0 auto; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.6rem 1rem 3rem 1.4rem; border-right: 1px solid var(--line); font-size: .86rem; }
nav h2 { margin: 1.1rem 0 .25rem; font-size: .72rem; letter-spacing: .08em; text-transform: uppercase; color: var(--soft); font-weight: 600; }
nav ul { list-style: none; margin: 0; padding: 0; } nav li a { display: block; padding: .13rem 0; color: inherit; overflow-wrap: anywhere; }
main { padding: 2rem clamp(1rem, 4vw, 3rem) 6rem; min-width: 0; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; letter-spacing: -.01em; } h1 small { font-size: .95rem; color: var(--soft); font-weight: 400; }
.lead { color: var(--soft); max-width: 46rem; }
section > h2 { margin: 2.8rem 0 .2rem; font-size: 1.25rem; } section > p { margin: 0 0 .8rem; color: var(--soft); }
article { background: var(--card); border: 1px solid var(--line); border-radius: 10px; margin: .8rem 0; padding: 1rem 1.2rem 1.1rem; }
article > header { display: flex; flex-wrap: wrap; gap: .3rem .7rem; align-items: baseline; }
article h3 { margin: .35rem 0 .1rem; font-size: 1rem; font-weight: 500; }
.path { font-weight: 600; overflow-wrap: anywhere; } .name { margin-left: auto; color: var(--soft); }
.method { font: 700 .72rem/1 ui-monospace, "DejaVu Sans Mono", Menlo, monospace; padding: .3em .5em; border-radius: 5px; color: var(--card); }
.get { background: var(--get); } .post { background: var(--post); } .put { background: var(--put); } .patch { background: var(--patch); } .delete { background: var(--delete); }
.note { color: var(--soft); margin: 0 0 .5rem; font-size: .9rem; }
h4 { margin: .9rem 0 .3rem; font-size: .74rem; letter-spacing: .06em; text-transform: uppercase; color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } td { padding: .32rem .8rem .32rem 0; border-top: 1px solid var(--line); vertical-align: top; }
tr:first-child td { border-top: 0; } td:first-child { white-space: nowrap; width: 1%; } .kind { color: var(--soft); } .must { color: var(--delete); font-size: .8em; }
details { margin-top: .7rem; } summary { cursor: pointer; color: var(--soft); font-size: .9rem; }
.errors td:first-child { font-weight: 600; } .errors code { margin-right: .3rem; }
@media (max-width: 60rem) { .frame { display: block; } nav { display: none; } .name { margin-left: 0; } }
"""


def page(prefix: str = "") -> bytes:
    described = document(prefix)
    return "".join(_page(described, prefix)).encode()


def _page(described: Json, prefix: str) -> Iterator[str]:
    info = described["info"]
    yield (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title>"
        f'<link rel="stylesheet" href="{escape(prefix)}/docs/style.css"></head>'
        '<body><div class="frame"><nav aria-label="operations">'
    )
    by_noun = _by_noun(described)
    for noun, operations in by_noun.items():
        yield f"<h2>{escape(noun)}</h2><ul>"
        for _, _, operation in operations:
            name = escape(operation["operationId"])
            yield f'<li><a href="#{name}">{name}</a></li>'
        yield "</ul>"
    yield (
        f"</nav><main><h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1>"
        f'<p class="lead">{escape(info["summary"])}</p>'
        '<p class="lead">Send <code>Authorization: Bearer TOKEN</code>; <code>duetty token</code> prints '
        "the token. Every error is <code>{&quot;error&quot;: {code, message, hint?, details?}}</code>, and "
        "its code is permanent. Any call may name the <code>server</code> that is meant, in the query or the body. A token with scopes is made by <code>token.create</code>. "
        f'For programs: <a href="{escape(prefix)}/openapi.json">openapi.json</a>, '
        f'<a href="{escape(prefix)}/openapi.yaml">openapi.yaml</a>.</p>'
    )
    descriptions = {tag["name"]: tag["description"] for tag in described["tags"]}
    for noun, operations in by_noun.items():
        yield f'<section id="{escape(noun)}"><h2>{escape(noun)}</h2><p>{escape(descriptions[noun])}</p>'
        for method, path, operation in operations:
            yield from _operation(method, path, operation, described["components"]["schemas"])
        yield "</section>"
    yield "</main></div></body></html>\n"


def _by_noun(described: Json) -> dict[str, list[tuple[str, str, Json]]]:
    found: dict[str, list[tuple[str, str, Json]]] = {tag["name"]: [] for tag in described["tags"]}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            found[operation["tags"][0]].append((method, path, operation))
    return found


def _operation(method: str, path: str, operation: Json, schemas: Json) -> Iterator[str]:
    name = escape(operation["operationId"])
    yield (
        f'<article id="{name}"><header><span class="method {method}">{method.upper()}</span>'
        f'<span class="path">{escape(path)}</span><a class="name kind" href="#{name}">{name}</a></header>'
        f'<h3>{escape(operation["summary"])}</h3><p class="note">{_marked(operation["description"])}</p>'
    )
    for place, title in (("path", "In the path"), ("query", "In the query")):
        rows = [
            each
            for each in operation["parameters"]
            if each["in"] == place and each["name"] != "server"
        ]
        yield from _table(
            title,
            [
                (each["name"], each["schema"], each["required"], each.get("description", ""))
                for each in rows
            ],
        )
    yield from _body(operation.get("requestBody"))
    yield from _answers(operation["responses"], schemas)
    yield "</article>"


def _body(body: Json | None) -> Iterator[str]:
    if body is None:
        return
    kind, content = next(iter(body["content"].items()))
    if kind != "application/json":
        yield f"<h4>Body</h4><p>{escape(body.get('description', kind))}</p>"
        return
    schema = content["schema"]
    needed = schema.get("required", [])
    yield from _table("JSON body", _rows(schema["properties"], needed))


def _answers(responses: Json, schemas: Json) -> Iterator[str]:
    status, success = next(iter(responses.items()))
    content = success.get("content", {})
    if "application/json" in content:
        schema = content["application/json"]["schema"]
        properties = _resolved(schema, schemas).get("properties", {})
        yield f"<details><summary>Answers {status} with <code>{escape(_kind(schema))}</code></summary>"
        yield from _table("", _rows(properties, list(properties)))
        yield "</details>"
    elif content:
        kinds = ", ".join(f"<code>{escape(kind)}</code>" for kind in content)
        yield f'<p class="note">Answers {status} with {kinds}.</p>'
    else:
        yield f'<p class="note">Answers {status} with no body.</p>'
    yield '<details><summary>Errors</summary><table class="errors">'
    for code, response in list(responses.items())[1:]:
        yield f"<tr><td>{code}</td><td>{_marked(response['description'])}</td></tr>"
    yield "</table></details>"


def _rows(properties: Json, needed: list[str]) -> list[tuple[str, Json, bool, str]]:
    return [
        (name, schema, name in needed, schema.get("description", ""))
        for name, schema in properties.items()
        if name != "server" or schema not in (SERVER_FIELD, BODY_SERVER_FIELD)
    ]


def _table(title: str, rows: list[tuple[str, Json, bool, str]]) -> Iterator[str]:
    if not rows:
        return
    yield (f"<h4>{title}</h4>" if title else "") + "<table>"
    for name, schema, required, description in rows:
        must = ' <span class="must">needed</span>' if required and title else ""
        default = schema.get("default")
        given = (
            f" = {json.dumps(default)}" if default not in (None, "", []) and not required else ""
        )
        yield (
            f"<tr><td><code>{escape(name)}</code>{must}</td>"
            f'<td><span class="kind">{escape(_kind(schema) + given)}</span> {_marked(description)}</td></tr>'
        )
    yield "</table>"


def _resolved(schema: Json, schemas: Json) -> Json:
    if "items" in schema:
        return _resolved(schema["items"], schemas)
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _kind(schema: Any) -> str:
    """A type in a word or two."""
    if not isinstance(schema, dict) or not schema:
        return "any"
    known: Json = schema  # pyright: ignore[reportUnknownVariableType] - JSON
    if "$ref" in known:
        return str(known["$ref"]).rpartition("/")[2].removesuffix("Given")
    if "enum" in known:
        return " | ".join(str(each) for each in known["enum"])
    if "const" in known:
        return str(known["const"])
    for many in ("anyOf", "oneOf"):
        if many in known:
            return " | ".join(_kind(each) for each in known[many])
    if known.get("type") == "array":
        return f"{_kind(known.get('items', known.get('prefixItems')))}[]"
    return str(known.get("type", "any"))


def _marked(text: str) -> str:
    """Text with `code` in it."""
    parts = escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts))
