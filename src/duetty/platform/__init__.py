"""What only this operating system has: `/proc`, peers of sockets, terminals' ioctls, process handles,
Landlock and the system call filter.

A port is a second set of these modules; nothing above them asks the kernel for what they can tell.
`capabilities.py` is the table of what a machine has: a capability that is missing is an error with
a code, or a "no" that `duetty doctor` shows, never a guess. The standard library only, since the
keeper uses it too. Knows nothing of sessions, calls or settings.
"""
