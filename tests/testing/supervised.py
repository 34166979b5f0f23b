"""Which supervised models the laws are tried on, and what scikit-learn asks of them in vain."""

from bayou import (
    MedLDAClassifier,
    MedLDARegressor,
    OnlineMedLDAClassifier,
    OnlineMedLDARegressor,
)

SHORT = {"n_topics": 4, "n_sweeps": 8, "n_kept": 3}

MODELS = [
    kind(**SHORT, **extra)
    for kind in (MedLDAClassifier, MedLDARegressor)
    for extra in (
        {},
        {"sampler": "light"},
        {"exact": True},
        {"sampler": "light", "exact": True},
        {"n_chains": 2},
        {"word_residual": 1.0},
        {"refit": False},
    )
] + [MedLDAClassifier(**SHORT, loss="logistic", cost=4.0)]
ONLINE = [
    OnlineMedLDAClassifier(n_topics=4),
    OnlineMedLDAClassifier(n_topics=4, classifier="averaging", batch_size=16),
    OnlineMedLDAClassifier(n_topics=4, weight_floor=None, n_sweeps=2, batch_size=9, decay=0.99),
    OnlineMedLDAClassifier(n_topics=4, refit=True, batch_size=16),
    OnlineMedLDARegressor(n_topics=4),
    OnlineMedLDARegressor(n_topics=4, refit=False, batch_size=16),
    OnlineMedLDARegressor(n_topics=4, regressor="averaging", batch_size=16, ghost_factor=2.0),
]

SKLEARN = [
    MedLDAClassifier(**SHORT),
    MedLDARegressor(**SHORT),
    MedLDAClassifier(),
    MedLDARegressor(),
    OnlineMedLDAClassifier(),
    OnlineMedLDAClassifier(classifier="averaging"),
    OnlineMedLDARegressor(),
    OnlineMedLDARegressor(regressor="averaging"),
]
