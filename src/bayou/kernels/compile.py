"""How every kernel is compiled: serial, without the interpreter lock, cached on disk.

``jit`` keeps IEEE arithmetic. ``fast_jit`` lets the compiler reorder sums so that loops over topics
become vector instructions; NaN and infinity keep their meaning. The order of a sum depends on its
length alone, and no sum crosses from one item of a range to another, so results do not depend on how
a range is cut among threads; they may differ in the last bits from one processor family to another.

A loop that sums writes to no array. One that does both is compiled twice, with and without vector
instructions, and whether arrays lie close to each other in memory decides which of the two is run: a sum
would then have two orders. Where weights are written and summed, the sum is a loop of its own
(`token.sum_of`).

What a kernel calls is put in its place (``forceinline``). Else a process that compiles would run the callee
as it was compiled by itself, and one that reads the cache the copy in the caller's object, whose sums may
have another order.
"""

from functools import partial

from numba import njit

jit = partial(njit, nogil=True, cache=True, error_model="numpy", forceinline=True)
fast_jit = partial(
    njit,
    nogil=True,
    cache=True,
    error_model="numpy",
    forceinline=True,
    fastmath={"reassoc", "contract", "nsz", "arcp"},
)
