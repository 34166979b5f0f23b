"""Which models of labels on a stream the laws are tried on."""

from bayou import OnlineDependencyLDA, OnlineLabeledHDP, OnlineLabeledLDA

ONLINE = [
    OnlineLabeledLDA(batch_size=16),
    OnlineLabeledLDA(
        batch_size=9, inference="hybrid", greedy=False, burn_in=1, n_samples=2, rule="cardinality"
    ),
    OnlineDependencyLDA(n_topics=3, n_chains=2, batch_size=16, n_passes=2),
    OnlineLabeledHDP(batch_size=16, burn_in=1, n_samples=2, greedy=False),
]
SKLEARN_ONLINE = [
    OnlineLabeledLDA(batch_size=16),
    OnlineDependencyLDA(n_topics=3, n_chains=2, batch_size=16),
    OnlineLabeledHDP(batch_size=16, burn_in=1, n_samples=2),
]
