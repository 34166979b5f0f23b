"""Result mixin of mixtures of multinomials: every document has one topic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from bayou.api.bases import TopicsBase
from bayou.data.checks import whole
from bayou.inference.lda import documents
from bayou.inference.spectral import mixture
from bayou.kernels.rng import PROPORTIONS
from bayou.kernels.spectral import mixture as kernels
from bayou.metrics.likelihood import completion_halves
from bayou.results.posterior import Posterior
from bayou.run.shards import Workers


class Mixture(TopicsBase):
    """Probabilities of the one topic of a document, from `posterior_`. Comes before `Topics`.

    Attributes
    ----------
    weights_ : float64 array (topics,)
        Share of the documents in each topic [w].
    """

    posterior_: Posterior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags()  # scikit-learn reads it if there is `predict_proba`
        return tags

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Share of the documents in each topic; sums to one."""
        check_is_fitted(self)
        alpha = self.posterior_.alpha
        return np.asarray(alpha / alpha.sum(), np.float64)

    def _infer(self, pairs: documents.Pairs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """p(topic | document) and ln p(document)."""
        with Workers(self.n_threads) as workers:
            return mixture.responsibilities(
                pairs, self.posterior_.rows, self.weights_, workers.each
            )

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Probability of each topic for each document; rows sum to one.

        Documents without known terms get the weights of the topics.
        """
        check_is_fitted(self)
        return self._infer(documents.pairs_of(self._corpus(X, reset=False).counts))[0]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The same as `transform`, under the name that scikit-learn's mixtures have."""
        return self.transform(X)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The most probable topic of each document."""
        return np.asarray(self.transform(X).argmax(axis=1), np.int64)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """ln p(document) of each document, in nats; 0 for an empty one."""
        check_is_fitted(self)
        return self._infer(documents.pairs_of(self._corpus(X, reset=False).counts))[1]

    def log_likelihood(self, X: Any) -> float:
        """Log-likelihood per token of held-out documents by document completion.

        Half of each document's tokens, chosen by its content, give the probabilities of its topic. The
        value is the mean natural logarithm of the probability of the other half, token by token, as in
        other topic models. `score_samples` gives the likelihood of whole documents.
        """
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        observed, scored = (
            documents.pairs_of(csr_array(half)) for half in completion_halves(corpus.counts)
        )
        theta, _ = self._infer(observed)
        with Workers(self.n_threads) as workers:
            value = mixture.predictive_log_likelihood(
                scored, theta, self.posterior_.rows, workers.each
            )
        return float(np.sum(value) / max(scored.n_tokens, 1.0))

    def sample(self, X: Any, *, n_samples: int = 10, burn_in: int = 20) -> NDArray[np.float64]:
        """Posterior draws of documents' topics, as rows with a single one.

        The draws are independent, so ``burn_in`` has no effect. It exists because other topic models have
        it. The draws of a document depend on its content and on the seed of the model.

        Returns
        -------
        float64 array (samples, documents, topics)
        """
        whole("n_samples", n_samples, 1)
        whole("burn_in", burn_in, 0)
        theta = self.transform(X)
        ids = documents.content_ids(documents.pairs_of(self._corpus(X, reset=False).counts))
        out = np.zeros((n_samples, *theta.shape))
        for i in range(n_samples):
            kernels.draw_topics(out[i], theta, ids, self.seed_, PROPORTIONS, i)
        return out
