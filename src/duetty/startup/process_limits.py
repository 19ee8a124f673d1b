"""What the kernel limits for this process."""

import resource
from contextlib import suppress


def raise_descriptor_limit() -> None:
    """Each session takes a descriptor, each connection another."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def leave_no_core() -> None:
    """A crash would write every token and screen into a file somewhere."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
