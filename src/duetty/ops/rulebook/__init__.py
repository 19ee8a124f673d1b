"""The rules in force: where they come from, what they say, and their text.

Knows files and rules; no call, and no session.
"""
