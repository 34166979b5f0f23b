"""Which models of labels, on a stream or with a learned root, the laws are tried on."""

from bayou import LabeledHDP, OnlineDependencyLDA, OnlineLabeledHDP, OnlineLabeledLDA, StackedHDP

ONLINE = [
    OnlineLabeledLDA(batch_size=16),
    OnlineLabeledLDA(
        batch_size=9, inference="hybrid", greedy=False, burn_in=1, n_samples=2, rule="cardinality"
    ),
    OnlineDependencyLDA(n_topics=3, n_chains=2, batch_size=16, n_passes=2),
    OnlineLabeledHDP(batch_size=16, burn_in=1, n_samples=2, greedy=False),
    OnlineDependencyLDA(n_topics=3, n_chains=2, batch_size=16, greedy=False),
    LabeledHDP(n_sweeps=6, n_kept=3, greedy=False, concentration=None, n_chains=2),
    StackedHDP(n_topics=3, n_sweeps=6, n_kept=3, n_chains=2, label_concentration=None),
]
SKLEARN_ONLINE = [
    OnlineLabeledLDA(batch_size=16),
    OnlineDependencyLDA(n_topics=3, n_chains=2, batch_size=16),
    OnlineLabeledHDP(batch_size=16, burn_in=1, n_samples=2),
    LabeledHDP(n_sweeps=5, n_kept=3),
    StackedHDP(n_topics=3, n_sweeps=5, n_kept=3),
]
