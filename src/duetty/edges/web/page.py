"""What a browser sees when this server carries no built page."""

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Duetty</title>
<h1>Duetty runs here</h1>
<p>You are signed in. This version carries no terminal page yet.</p>
<p>Sessions can be used from the command line:</p>
<pre>duetty list
duetty run -- echo hello
duetty history</pre>
<p>and over HTTP: <a href="/sessions">/sessions</a>, <a href="/history">/history</a>,
<a href="/server/info">/server/info</a>.</p>
</html>
"""


def page() -> str:
    return _PAGE
