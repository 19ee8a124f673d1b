"""Started by the conformance suite for each client scenario: passes it on to `upstream_client.py`."""

import json
import os
import socket
import sys

ORDER = {
    "url": sys.argv[-1],
    "scenario": os.environ["MCP_CONFORMANCE_SCENARIO"],
    "context": json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}"),
}

with socket.socket(socket.AF_UNIX) as talk:
    talk.connect(sys.argv[1])
    talk.sendall(json.dumps(ORDER).encode())
    told = talk.makefile().readline().strip()
sys.exit(told or 0)
