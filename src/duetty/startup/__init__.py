"""What a server needs before and beside its parts: the instance's lock, its token, its log, its
limits, and the web server.

Knows nothing of sessions, operations or policy.
"""
