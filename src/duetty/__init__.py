"""One terminal, two drivers: a person and an AI agent share real terminals.

Knows nothing by itself: `server.py` builds the parts, `cli` starts it.
"""

__version__ = "0.1.0"
