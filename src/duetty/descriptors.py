"""How many files this process may still open, and who gets the last ones.

A new descriptor has the lowest free number. So one whose number is near the limit says that nearly
all are taken, without counting them. The limit is asked for each time: others may change it.
"""

import os
import resource


def limit() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def for_own_files() -> int:
    """Journal segments, the store, the trail: kept free of connections and sessions alike."""
    return min(8, limit() // 16)


def for_people() -> int:
    """The unix socket and what the server needs itself: kept free of sessions."""
    return min(32, limit() // 5)


def for_sessions() -> int:
    """Kept free of the network's connections, on top of what is kept for people."""
    return min(64, limit() // 3)


def strangers() -> int:
    """Connections that have shown no credential yet, at once."""
    return min(128, limit() // 8)


def connections() -> int:
    """From the network, in all."""
    return max(16, limit() - for_people() - for_sessions())


def is_free(number: int, *, keeping: int) -> bool:
    """Whether so many are left beyond this descriptor."""
    return number < limit() - keeping


def has_room(*, keeping: int) -> bool:
    try:
        number = os.dup(2)
    except OSError:
        return False
    os.close(number)
    return is_free(number, keeping=keeping)
