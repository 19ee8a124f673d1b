"""The keeper: the small process that holds the PTYs when no server does.

It forks children on PTYs, keeps a duplicate of each master, hands descriptors
to the server and remembers exit statuses. It never reads a PTY, so it cannot
lose a byte: while no server is there, programs wait.

`client` is the server's side, `process` the keeper itself. Nothing is imported here: the keeper process loads this package too,
and pays for every module as long as any session lives.

Knows nothing of terminals, blocks, callers or settings.
"""
