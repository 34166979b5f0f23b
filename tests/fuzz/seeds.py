"""Valid files to change: one model of every kind, and checkpoints of models that can resume."""

from pathlib import Path

from tests.oracle.documents import N_DOCS, texts, train
from tests.oracle.variants import VARIANTS
from tests.oracle.ways import arguments, made, source

import bayou

MODELS = (
    "LDA/fast", "LDA/gibbs draws", "OnlineLDA/scvb0", "OnlineLDA/hybrid", "HDP/alias",
    "OnlineHDP/hybrid", "OnlineHDP/truncation-free", "MedLDAClassifier/classes",
    "MedLDAClassifier/words labels", "MedLDAClassifier/chains binary", "MedLDARegressor/numbers",
    "MedHDPClassifier/classes", "MedHDPRegressor/number", "OnlineMedLDAClassifier/gibbs refit",
    "OnlineMedLDAClassifier/averaging labels", "OnlineMedLDARegressor/gibbs numbers",
    "OnlineMedHDPClassifier/gibbs classes", "OnlineMedHDPRegressor/gibbs number",
    "BayesPAClassifier/diagonal classes", "BayesPAClassifier/full binary",
    "BayesPARegressor/averaging number",
    "LabeledLDA/cvb0 labels", "LabeledLDA/gibbs chains", "DependencyLDA/cvb0 labels",
    "FastDependencyLDA/document", "StackedHDP/document", "LabeledHDP/labels", "AuthorTopicModel/authors",
    "OnlineLabeledLDA/scvb0 labels", "OnlineLabeledLDA/hybrid labels", "OnlineLabeledHDP/labels",
    "OnlineDependencyLDA/labels", "TopicTracker/fast", "SpectralLDA/basis", "SpectralLeader/history",
    "IncrementalEM/batches", "StepwiseEM/batches",
)  # fmt: skip
CHECKPOINTS = (
    "LDA/fast", "LDA/gibbs draws", "LDA/snapshot draws", "LDA/mh draws", "HDP/alias", "HDP/tables",
    "HDP/direct", "MedLDAClassifier/gibbs classes", "MedLDAClassifier/light labels",
    "MedLDARegressor/gibbs", "MedHDPClassifier/classes", "LabeledLDA/cvb0 labels",
    "LabeledLDA/gibbs chains", "DependencyLDA/gibbs labels", "FastDependencyLDA/gibbs labels",
    "StackedHDP/gibbs labels", "LabeledHDP/labels", "AuthorTopicModel/authors",
)  # fmt: skip


def stop(info):
    """A callback that ends training after two steps."""
    return info.step >= 2


def fit(name, **more):
    """The model of a variant, from documents of the oracle; online models keep pending documents."""
    variant = VARIANTS[name]
    X, how = source(variant.form, variant.target), arguments(variant, train())
    model = made(variant, 1, 1, **more)
    if hasattr(model, "partial_fit") and not hasattr(model, "flush"):
        n = N_DOCS - 7
        cut = arguments(variant, train(), slice(0, n))
        return model.partial_fit(X[:n], **cut)
    if hasattr(model, "flush"):
        return model.partial_fit(X[:100])  # some documents wait for their slice to end
    return model.fit(X, **how, **variant.fit)


def resume(name, path):
    """Go on from a checkpoint to the end."""
    variant = VARIANTS[name]
    how = arguments(variant, train()) | variant.fit
    model = made(variant, 1, 1)
    return model.fit(
        source(variant.form, variant.target), **how, checkpoint=path, checkpoint_every=1
    )


def write_checkpoint(name, path):
    """The checkpoint of a training that was stopped early."""
    variant = VARIANTS[name]
    how = arguments(variant, train()) | variant.fit
    model = made(variant, 1, 1, callbacks=[stop])
    model.fit(source(variant.form, variant.target), **how, checkpoint=path, checkpoint_every=1)


def write_all(folder):
    """Write all valid files; the name of a file says what it is."""
    for name in MODELS:
        fit(name).save(Path(folder, f"model {name.replace('/', '+')}.bayou"))
    for name, inner in TEXTS.items():
        targets = train().targets["classes"] if "Med" in name else None
        growth = {"growth": bayou.Growth(min_docs=1)} if name == "growing" else {}
        model = bayou.TextModel(estimator=inner(), **growth)
        given = texts()[:89]
        model.partial_fit(given) if targets is None else model.partial_fit(given, targets[:89])
        model.save(Path(folder, f"text {name}.bayou"))
    for name in CHECKPOINTS:
        write_checkpoint(name, Path(folder, f"checkpoint {name.replace('/', '+')}.bayou"))


TEXTS = {
    "plain": lambda: bayou.OnlineLDA(n_topics=3, batch_size=16, random_state=0),
    "growing": lambda: bayou.OnlineLDA(n_topics=3, batch_size=16, random_state=0),
    "OnlineMed": lambda: bayou.OnlineMedLDAClassifier(n_topics=4, batch_size=16, random_state=0),
}
