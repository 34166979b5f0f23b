"""The token formula, once. With the token itself removed from all counts, p(z = k | rest) is

    (n_dk + a_k) (n_vk + beta) / (n_k + V beta)

up to a factor, or (n_dk + a_k) phi_vk while the topics phi stand still.
"""

from bayou.kernels.compile import fast_jit, jit

LANES = 8  # numbers that a processor works on at once
BLOCK = 16  # weights are skipped by this many at a time when a draw looks for its topic


@fast_jit
def sum_of(weight, lo, hi):
    """The sum of the entries lo .. hi.

    A loop that writes one array and reads others is compiled twice, and where they lie in memory decides
    which is run: their sum in the same loop would have an order that depends on that.
    """
    total = weight.dtype.type(0)
    for k in range(lo, hi):
        total += weight[k]
    return total


@jit
def shift(doc_row, term_topic, v, topic, k, by):
    """Let a token of term v enter (by = 1) or leave (by = -1) topic k."""
    doc_row[k] += by
    term_topic[v, k] += by
    topic[k] += by


@fast_jit
def weigh_into(weight, doc_row, alpha, term_topic, v, beta, topic, vbeta):
    """Weights of all topics for a token of term v against live counts; gives their sum."""
    for k in range(weight.size):
        weight[k] = (doc_row[k] + alpha[k]) * (term_topic[v, k] + beta) / (topic[k] + vbeta)
    return sum_of(weight, 0, weight.size)


@fast_jit
def fixed_weights_into(weight, doc_row, alpha, rows, v):
    """Weights of all topics for a token of term v against fixed rows."""
    for k in range(weight.size):
        weight[k] = (doc_row[k] + alpha[k]) * rows[v, k]


@fast_jit
def weigh_rows_into(weight, doc_row, alpha, rows, v):
    """The same; gives their sum."""
    fixed_weights_into(weight, doc_row, alpha, rows, v)
    return sum_of(weight, 0, weight.size)


@fast_jit
def _block_sum(weight, start):
    total = weight[start]
    for i in range(1, BLOCK):
        total += weight[start + i]
    return total


@jit
def pick(weight, target):
    """The topic at which the running sum of weights passes ``target``."""
    k = 0
    while k + BLOCK < weight.size:
        part = _block_sum(weight, k)
        if target < part:
            break
        target -= part
        k += BLOCK
    last = min(k + BLOCK, weight.size) - 1
    while k < last and target >= weight[k]:
        target -= weight[k]
        k += 1
    while weight[k] <= 0.0 and k > 0:  # rounding carried the target past the last topic in use
        k -= 1
    return k


@jit
def count_document(doc_row, z, lo, hi):
    """n_dk of the tokens lo .. hi, written over ``doc_row``."""
    for k in range(doc_row.size):
        doc_row[k] = 0
    for i in range(lo, hi):
        doc_row[z[i]] += 1
