"""From a call, or a line that is typed, to what may become of it: judged, asked about, recorded.

Knows the session and the rules that a call is about; nothing of edges, nor of how an operation works.
"""
