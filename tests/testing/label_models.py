"""Which models of labels the laws are tried on, and what scikit-learn asks of them in vain."""

from bayou import (
    AuthorTopicModel,
    DependencyLDA,
    FastDependencyLDA,
    LabeledLDA,
    StackedTopics,
)

SHORT = {"n_topics": 3, "n_sweeps": 6, "n_kept": 3}

MODELS = [
    LabeledLDA(inference="gibbs", n_sweeps=6, n_kept=3, n_chains=2, greedy=False),
    LabeledLDA(n_sweeps=4, n_free_topics=2, rule="scut", prior="flat", tf="log"),
    DependencyLDA(**SHORT),
    FastDependencyLDA(**SHORT, dep_tokens="word", inference="gibbs", n_chains=2),
    FastDependencyLDA(**SHORT, dep_tokens="word", inference="gibbs", greedy=False, mix=0.5),
    AuthorTopicModel(**SHORT),
]
SKLEARN = [
    LabeledLDA(n_sweeps=5),
    DependencyLDA(**SHORT),
    FastDependencyLDA(**SHORT),
    AuthorTopicModel(**SHORT),
    StackedTopics(**SHORT, n_subtopics=4),
]
