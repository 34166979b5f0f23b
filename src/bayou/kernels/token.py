"""The conditional distribution of a token's topic. Without the token itself in the counts, p(z = k | rest) is

    (n_dk + a_k) (n_vk + beta) / (n_k + V beta)

up to a factor, or (n_dk + a_k) phi_vk for fixed topics phi.
"""

from bayou.kernels.compile import fast_jit, jit

LANES = 8  # numbers per vector instruction
BLOCK = 16  # weights per block when a draw searches its topic


@fast_jit
def sum_of(weight, lo, hi):
    """The sum of the entries lo .. hi.

    A loop that writes one array and reads others is compiled twice, and the memory layout of the arrays
    decides which version runs. A sum in the same loop would have an order that depends on the layout.
    """
    total = weight.dtype.type(0)
    for k in range(lo, hi):
        total += weight[k]
    return total


@jit
def shift(doc_row, term_topic, v, topic, k, by):
    """Add (by = 1) or remove (by = -1) a token of term v to or from topic k."""
    doc_row[k] += by
    term_topic[v, k] += by
    topic[k] += by


@fast_jit
def weigh_into(weight, doc_row, alpha, term_topic, v, beta, topic, vbeta):
    """Weights of all topics for a token of term v under the current counts; returns their sum."""
    for k in range(weight.size):
        weight[k] = (doc_row[k] + alpha[k]) * (term_topic[v, k] + beta) / (topic[k] + vbeta)
    return sum_of(weight, 0, weight.size)


@fast_jit
def fixed_weights_into(weight, doc_row, alpha, rows, v):
    """Weights of all topics for a token of term v under fixed topics."""
    for k in range(weight.size):
        weight[k] = (doc_row[k] + alpha[k]) * rows[v, k]


@fast_jit
def weigh_rows_into(weight, doc_row, alpha, rows, v):
    """Weights of all topics for a token of term v under fixed topics; returns their sum."""
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
    """The topic at which the cumulative sum of weights exceeds ``target``."""
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
    while weight[k] <= 0.0 and k > 0:  # by rounding, the target was past the last topic in use
        k -= 1
    return k


@jit
def count_document(doc_row, z, lo, hi):
    """Write n_dk of the tokens lo .. hi to ``doc_row``."""
    for k in range(doc_row.size):
        doc_row[k] = 0
    for i in range(lo, hi):
        doc_row[z[i]] += 1
