"""Python's collector of cycles, switched off where nothing but what stays is made.

A sweep holds hundreds of thousands of small objects (rows, instructions, symbols), none in a
cycle; looking through them again and again is up to a tenth of its time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """No collection inside; processes that are forked off inherit this. Decorates functions.

    What has been made by the end is left out of later collections as well: one would follow at
    once, and two more when the interpreter ends, for nothing.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.freeze()
            gc.enable()
