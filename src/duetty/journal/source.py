"""A descriptor that is read many times in one call, without Python in between.

A PTY gives 4 KB at a time, and a thread that comes back to Python after each has to
wait for the interpreter's lock as often as it reads. The C library's unbuffered `fread`
reads until the buffer is full or nothing is there, straight into it: the bytes are in the
journal's pages the moment the kernel gives them, as with `read` itself.
"""

import ctypes
import errno
import os

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fdopen.restype = ctypes.c_void_p
_libc.fdopen.argtypes = [ctypes.c_int, ctypes.c_char_p]
_libc.setvbuf.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
_libc.fread.restype = ctypes.c_size_t
_libc.fread.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p]
_libc.feof.argtypes = [ctypes.c_void_p]
_libc.clearerr.argtypes = [ctypes.c_void_p]
_libc.fclose.argtypes = [ctypes.c_void_p]

_UNBUFFERED = 2
_NOTHING_NOW = frozenset({errno.EAGAIN, errno.EINTR})


def address_of(view: memoryview) -> int:
    """Where a writable buffer is in memory; good as long as the buffer is."""
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


class Source:
    """Reads a duplicate of a non-blocking descriptor, which it closes in the end."""

    def __init__(self, fd: int) -> None:
        """
        Raises:
            OSError: if there is no descriptor left for the duplicate.
        """
        own = os.dup(fd)
        self._file: int | None = _libc.fdopen(own, b"rb")
        if not self._file:
            os.close(own)
            raise OSError(ctypes.get_errno(), "cannot read the descriptor")
        _libc.setvbuf(self._file, None, _UNBUFFERED, 0)

    def read(self, address: int, length: int) -> tuple[int, int | None]:
        """How many bytes came, and the error that ended it: None if there may be more, 0 at the end.

        EAGAIN says that nothing is there now.
        """
        file = self._file
        if file is None:
            return 0, errno.EBADF
        ctypes.set_errno(0)
        count = int(_libc.fread(address, 1, length, file))
        if count == length:
            return count, None
        ended = bool(_libc.feof(file))
        error = ctypes.get_errno()
        _libc.clearerr(file)
        if ended:
            return count, 0
        return count, errno.EAGAIN if error in _NOTHING_NOW else error

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            _libc.fclose(file)
