"""Compilation of kernels: serial, without the interpreter lock, cached on disk.

``jit`` keeps IEEE arithmetic. ``fast_jit`` lets the compiler reorder sums so that loops over topics
become vector instructions; NaN and infinity keep their meaning. The order of a sum depends only on its
length, and no sum spans several items of a range. Results therefore do not depend on how a range is cut
among threads. They may differ in the last bits between processor families.

A loop that sums does not write to any array. A loop that does both is compiled twice, with and without
vector instructions. Whether the arrays lie close to each other in memory decides which version runs, so a
sum would have two possible orders. Where weights are written and summed, the sum is a separate loop
(`token.sum_of`).

Callees are inlined (``forceinline``). Otherwise a process that compiles would run the callee's own compiled
version, and a process that reads the cache the copy in the caller's object file, whose sums may have
another order.
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
