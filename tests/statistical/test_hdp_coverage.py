"""The default intervals of the number of topics on corpora drawn from the model."""

import numpy as np
import pytest

from bayou import HDP
from bayou.data.synthetic import sample_hdp
from bayou.inference.hdp import root

N_CORPORA, LEAST_HELD = (
    12,
    9,
)  # 12 intervals of coverage 0.9 hold the truth in fewer than 9 with probability .03


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayou.data.errors.DoubtWarning")
def test_default_intervals_hold_the_true_number_of_topics():
    held = np.zeros(2, int)
    for seed in range(100, 100 + N_CORPORA):
        corpus, truth = sample_hdp(
            100, 200, doc_length=60, alpha=2.0, gamma=3.0, beta=0.05, seed=seed
        )
        used = np.bincount(truth.assignments).astype(float)
        model = HDP(random_state=seed).fit(corpus)
        for large, true in enumerate((int((used > 0).sum()), root.n_large(used))):
            low, high = model.n_topics_interval(level=0.9, large=bool(large))
            held[large] += low <= true <= high
            assert high - low <= max(true, 8)  # an interval of everything would hold the truth too
    assert (held >= LEAST_HELD).all()
