"""Labels whose terms are given, under Gibbs sampling and CVB0: the terms stay, the conditionals use them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou import Corpus, LabeledLDA
from bayou.inference.labels import assignments, training

N_TERMS = 4
GIVEN = np.array([0.1, 0.6, 0.3, 0.0])


def corpus(n_docs=40):
    """Labels "a" and "b" over four terms; every second document has both."""
    rng = np.random.default_rng(0)
    rows, labels = [], []
    for d in range(n_docs):
        own = [["a"], ["a", "b"], ["b"], ["a", "b"]][d % 4]
        p = np.mean(
            [[0.7, 0.1, 0.1, 0.1] if y == "a" else [0.1, 0.1, 0.1, 0.7] for y in own], axis=0
        )
        rows.append(rng.multinomial(12, p))
        labels.append(own)
    return Corpus.from_matrix(np.array(rows)), labels


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize(
    "how",
    [
        {"inference": "cvb0"},
        {"inference": "gibbs"},
        {"inference": "gibbs", "n_sweeps": 6, "n_kept": 6},
        {"inference": "gibbs", "n_chains": 3, "n_kept": 1},
    ],
    ids=str,
)
def test_a_label_keeps_its_given_terms(how, greedy):
    docs, labels = corpus()
    settings = {"greedy": greedy, "validation_share": 0.0, "random_state": 0, **how}
    model = LabeledLDA(**settings).fit(docs, labels, given_terms={"b": 5 * GIVEN})
    np.testing.assert_allclose(model.components_[1], GIVEN, atol=1e-6)
    counts = model.labels_.term_label.toarray()
    assert counts[:, 1].sum() == pytest.approx(1.0, abs=1e-5), "given terms are no tokens"
    free = LabeledLDA(**settings).fit(docs, labels)
    assert np.abs(model.components_[0] - free.components_[0]).max() > 0.01
    # "b" cannot have term 3, so all its tokens in documents with "a" belong to "a"
    both = np.array([len(own) == 2 for own in labels])
    last = docs.counts.toarray()[:, 3]
    assert counts[3, 0] == pytest.approx(
        last[both].sum() + last[[y == ["a"] for y in labels]].sum()
    )


def one_token(term, greedy, alpha=(0.4, 1.6)):
    """A document of one token with two labels, of which the second has given terms."""
    given = csr_array(np.column_stack([np.zeros(N_TERMS), GIVEN]).astype(np.float32))
    prior = training.label_prior(N_TERMS, 2, 1.0, 0.2, greedy=greedy)
    prior = training.fix_terms(prior._replace(alpha=np.array(alpha)), given)
    counts = np.zeros((1, N_TERMS))
    counts[0, term] = 1.0
    return assignments.prepare(csr_array(counts), csr_array(np.ones((1, 2))), given), prior


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("term", [0, 1, 3])
def test_gibbs_draws_a_label_by_its_given_probability(term, greedy):
    """A token alone: 1 / V x alpha for the free label, phi_v x alpha for the given one."""
    data, prior = one_token(term, greedy)
    z = assignments.start_chain(data, 5)
    kept = np.zeros(len(data.cell_labels), np.float32)
    chain = assignments.chain_counts(z, kept, data, prior)
    n, drawn = 4000, 0
    for sweep in range(n):
        assignments.draw(chain, data, prior, 5, sweep, True)
        drawn += int(z[0])
    weight = np.array([1 / N_TERMS, GIVEN[term]]) * (1.0 if greedy else prior.alpha)
    expected = weight[1] / weight.sum()
    assert drawn / n == pytest.approx(expected, abs=0.03)
    mean = training.mean_counts(chain.kept[None], n, (chain,), data).toarray()
    assert mean[term, 0] == pytest.approx(1 - expected, rel=1e-3)
    np.testing.assert_allclose(mean[:, 1], GIVEN, rtol=1e-6)
    assert chain.totals[1] == pytest.approx(1.0)


def test_a_label_with_given_terms_has_no_smoothing_and_no_gain():
    given = csr_array(np.column_stack([np.zeros(N_TERMS), GIVEN]).astype(np.float32))
    prior = training.label_prior(N_TERMS, 2, 1.0, 0.2, greedy=True)
    fixed = training.fix_terms(prior, given)
    assert fixed.beta.tolist() == [0.2, 0.0]
    assert fixed.vbeta.tolist() == [0.8, 0.0]
    assert fixed.gain.tolist() == [1.0, 0.0]
    assert training.fix_terms(prior, None) is prior
