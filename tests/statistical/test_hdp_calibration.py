"""The number of topics drawn from the prior, and what the samplers then believe it to be."""

import numpy as np
import pytest
from scipy import stats

from bayou.data.synthetic import sample_hdp
from bayou.inference.hdp import franchise, table_moves
from bayou.inference.lda.documents import Tokens

ALPHA, GAMMA, BETA, N_TERMS = 1.0, 1.5, 0.3, 12
N_RUNS, N_SWEEPS, EVERY = 300, 400, 20


def rank_of_truth(kind, seed):
    """Where the true number of topics lies among posterior draws of it, ties broken by chance."""
    corpus, truth = sample_hdp(
        8, N_TERMS, doc_length=10, alpha=ALPHA, gamma=GAMMA, beta=BETA, seed=seed
    )
    tokens = Tokens(*corpus.tokens())
    prior = franchise.FranchisePrior(ALPHA, GAMMA, 0.0, BETA)
    given = franchise.make_corpus(tokens, N_TERMS, kind)
    chain = franchise.start(given, 4, prior, seed)
    drawn = []
    for step in range(1, N_SWEEPS + 1):
        if kind == "direct":
            root = franchise.draw_root(chain, prior, seed, step)
            chain, root, _ = franchise.sweep_direct(chain, given, root, prior, seed, step)
        else:
            how = (2 * (kind == "alias"), step <= 50)
            chain, _ = franchise.sweep_tables(chain, given, prior, how, seed, step)
            root = franchise.draw_root(chain, prior, seed, step)
        franchise.move_topics(chain, given, root, prior, 4, seed, step)
        if step % table_moves.EVERY:
            franchise.seat(chain, given, root, prior, seed, step)
        else:
            chain, _ = table_moves.move_tables(chain, given, root, prior, 4, seed, step)
        if step > 100 and step % EVERY == 0:
            drawn.append(int(chain.counts.sizes[1]))
    true = len(np.unique(truth.assignments))
    below, same = np.sum(np.array(drawn) < true), np.sum(np.array(drawn) == true)
    return below + np.random.default_rng(seed).integers(0, same + 1), len(drawn)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tables", "alias", "direct"])
def test_the_true_number_of_topics_has_a_uniform_rank(kind):
    found = [rank_of_truth(kind, seed) for seed in range(N_RUNS)]
    ranks, n = np.array([rank for rank, _ in found]), found[0][1]
    tally = np.bincount(ranks * 5 // (n + 1), minlength=5)
    width = np.bincount(np.arange(n + 1) * 5 // (n + 1), minlength=5)
    assert stats.chisquare(tally, N_RUNS * width / (n + 1)).pvalue > 1e-3
