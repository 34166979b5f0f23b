"""Counter-based random numbers: a draw depends on its key, never on earlier draws.

A key is a 64-bit hash of (seed, purpose, sweep, document). The i-th number of a key is the
SplitMix64 output function applied to ``key + i * GOLDEN`` [Steele14], so it does not need the
i - 1 numbers before it. Kernels with a fixed number of draws count them themselves (`unit`);
rejection samplers use a one-element array as counter (`uniform`).

[Steele14] Steele, Lea, Flood. Fast splittable pseudorandom number generators. OOPSLA 2014.
"""

import numpy as np

from bayou.kernels.compile import jit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 1.0 / 9007199254740992.0  # 2**-53

# Purposes. A number is never reused for another purpose, so saved seeds keep their meaning.
INIT = 1
TOKEN = 2
WORD_PASS = 3
DOC_PASS = 4
SHUFFLE = 5
FOLD_IN = 6
TOPICS = 7
BATCH = 8
METRIC = 9
PROPORTIONS = 10
RESPONSE = 11
WEIGHTS = 12
ORDER = 13
MEMBER = 14
CHAIN = 30
LEARNER = 31
FOLD = 32
BATCH_BIRTHS = 36
BATCH_TABLES = 37
BATCH_ROOT = 38
KEPT_OUT = 39
TABLES = 40
CONCENTRATION = 41
ROOT = 42
SEATING = 43
SPLIT = 44
BIRTH = 45
SEATS = 46
DISHES = 47
TABLE_SPLIT = 48
GROWTH = 50
STICKS = 51
LEVEL = 52
LABELS = 55
LABEL_TOPICS = 56
LABEL_BLOCKS = 57
AUTHORS = 58
HELD_OUT = 59
LABEL_BATCH = 63
LABEL_NOISE = 64
LABEL_SPLIT = 65
STACK_START = 66
STACK_TOKEN = 67
STACK_TABLES = 68
STACK_ROOT = 69
SLICE = 70
QUIET = 72
BASIS = 85
STARTS = 86
RESERVOIR = 87
MIXTURE = 88
BOOTSTRAP = 60


@jit
def mix(x):
    """SplitMix64 output function: a bijection of 64-bit integers that scrambles the bits."""
    x = (x ^ (x >> _S30)) * _MIX_1
    x = (x ^ (x >> _S27)) * _MIX_2
    return x ^ (x >> _S31)


@jit
def key(seed, purpose, sweep, doc):
    """Hash (seed, purpose, sweep, document) to a key; each word is mixed in before the next."""
    k = mix(np.uint64(seed) + GOLDEN)
    k = mix((k ^ np.uint64(purpose)) + GOLDEN)
    k = mix((k ^ np.uint64(sweep)) + GOLDEN)
    return mix((k ^ np.uint64(doc)) + GOLDEN)


@jit
def unit(x):
    """A uniform number in [0, 1) from the position ``key + i * GOLDEN`` in a key's stream."""
    return (mix(x) >> _S11) * _UNIT


@jit
def uniform(stream):
    """The next uniform number in [0, 1) of a stream (a one-element uint64 array, set to a key)."""
    stream[0] += GOLDEN
    return unit(stream[0])


@jit
def below(stream, n):
    """A uniform integer in 0 .. n - 1; the bias is under n / 2**53."""
    return np.int64(uniform(stream) * n)


@jit
def with_replacement(n, k):
    """n numbers of 0 .. n - 1 drawn with replacement, determined by the key."""
    stream = np.empty(1, np.uint64)
    stream[0] = k
    out = np.empty(n, np.int64)
    for i in range(n):
        out[i] = below(stream, n)
    return out


@jit
def permutation(n, k):
    """A permutation of 0 .. n - 1 determined by the key (Fisher-Yates)."""
    stream = np.empty(1, np.uint64)
    stream[0] = k
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = below(stream, i + 1)
        order[i], order[j] = order[j], order[i]
    return order
