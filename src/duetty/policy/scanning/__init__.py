"""What may only lead to *ask* or *deny*: everything that can be found in a line, however it is written.

Knows no rule and no profile: it finds classes, and `decide` says what they lead to.
"""
