"""Result mixin of topic models: everything that follows from `posterior_`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bayou.api.bases import EstimatorBase
from bayou.api.estimator import Saved
from bayou.data.checks import number, whole
from bayou.data.errors import ModelFileError
from bayou.inference.lda import documents, fold_in
from bayou.metrics.likelihood import completion_halves
from bayou.metrics.topics import top_terms
from bayou.results.posterior import Posterior, proportions
from bayou.run.shards import Workers


class Topics(ClassNamePrefixFeaturesOutMixin, TransformerMixin, EstimatorBase):
    """Topics, topic proportions of documents and held-out likelihood, from `posterior_`.

    Attributes
    ----------
    posterior_ : Posterior
        The topics and priors after training.
    components_ : float64 array (topics, terms)
        Topics; rows sum to one [phi].
    alpha_ : float64 array (topics,)
    beta_ : float
    scores_ : float64 array
    vocabulary_ : Vocabulary or None
    """

    posterior_: Posterior

    # -- what users read -----------------------------------------------------------------------

    @property
    def components_(self) -> NDArray[np.float64]:
        """Topics x terms; rows sum to one."""
        check_is_fitted(self)
        return self.posterior_.topics

    @property
    def alpha_(self) -> NDArray[np.float64]:
        """Prior of a document's topics as used after training."""
        check_is_fitted(self)
        return self.posterior_.alpha

    @property
    def beta_(self) -> float:
        """Prior of a topic's terms as used after training."""
        check_is_fitted(self)
        return self.posterior_.beta

    @property
    def scores_(self) -> NDArray[np.float64]:
        """Log-likelihood per token of the passes after which it was measured."""
        check_is_fitted(self)
        return self.posterior_.scores

    @property
    def vocabulary_(self) -> Any:
        """The terms by name, or None."""
        check_is_fitted(self)
        return self._names if hasattr(self, "_names") else self.posterior_.vocabulary

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return self.posterior_.n_topics

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def top_terms(self, n: int = 10) -> list[list[str]]:
        """The most probable terms of each topic, by name if the terms have names.

        Terms of equal probability come in the order of the columns.
        """
        check_is_fitted(self)
        whole("n", n, 0)
        post = self.posterior_
        names = post.vocabulary or [f"x{v}" for v in range(post.n_terms)]
        best = top_terms(post.topics, min(max(n, 1), post.n_terms))
        return [[names[v] for v in row[:n]] for row in best]

    # -- inference under fixed topics ----------------------------------------------------------

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Topic proportions of documents; rows sum to one.

        A row depends on that row alone, and nothing in the model changes. Documents without known
        terms get the prior mean.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms)

        Returns
        -------
        float64 array (documents, topics)
        """
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        post = self.posterior_
        with Workers(self.n_threads) as workers:
            counts = fold_in.expected_counts(
                post.rows, post.alpha, documents.pairs_of(corpus.counts), workers.each
            )
        return proportions(counts, post.alpha)

    def sample(self, X: Any, *, n_samples: int = 10, burn_in: int = 20) -> NDArray[np.float64]:
        """Posterior draws of documents' topic proportions.

        Gibbs sampling of each document with the topics fixed at their estimate. If the model has kept draws
        of the topics (`n_draws`), each of them is used in turn, so that the draws include the uncertainty of
        the topics. After each kept sweep theta_d ~ Dir(n_d + alpha) is drawn. The draws of a document depend
        on its content and on the seed of the model.

        Returns
        -------
        float64 array (samples, documents, topics)
        """
        check_is_fitted(self)
        whole("n_samples", n_samples, 1)
        whole("burn_in", burn_in, 0)
        corpus = self._corpus(X, reset=False)
        post = self.posterior_
        ids = documents.content_ids(documents.pairs_of(corpus.counts))
        tokens = documents.Tokens(*corpus.tokens())
        topics = post.rows[None] if post.draws is None else post.draws
        ends = np.linspace(0, n_samples, min(len(topics), n_samples) + 1).astype(int)
        drawn = []
        with Workers(self.n_threads) as workers:
            for i, n in enumerate(np.diff(ends).tolist()):
                seed, each = self.seed_ + i, workers.each
                counts = fold_in.draw_counts(
                    topics[i], post.alpha, tokens, ids, seed, (burn_in, n), each
                )
                drawn.append(fold_in.draw_proportions(counts, post.alpha, ids, seed, each))
        return np.concatenate(drawn)

    def interval(
        self, X: Any, *, level: float = 0.9, n_samples: int = 100, burn_in: int = 20
    ) -> NDArray[np.float64]:
        """Posterior intervals of documents' topic proportions: quantiles of `sample`.

        Returns
        -------
        float64 array (2, documents, topics)
            Lower and upper ends. The posterior mass between them is ``level``.
        """
        number("level", level, 0.0, 1.0)
        drawn = self.sample(X, n_samples=n_samples, burn_in=burn_in)
        ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        return np.asarray(np.quantile(drawn, ends, axis=0), np.float64)

    def log_likelihood(self, X: Any) -> float:
        """Log-likelihood per token of held-out documents by document completion.

        Half of each document's tokens, chosen by its content, give its topic proportions. The value is the
        mean natural logarithm of the probability of the other half. Higher is better.
        """
        check_is_fitted(self)
        corpus = self._corpus(X, reset=False)
        halves = completion_halves(corpus.counts)
        post = self.posterior_
        with Workers(self.n_threads) as workers:
            observed, scored = (documents.pairs_of(csr_array(half)) for half in halves)
            return fold_in.completion(post.rows, post.alpha, observed, scored, workers.each)

    def score(self, X: Any, y: Any = None) -> float:
        """`log_likelihood`, under the name that scikit-learn's model selection calls."""
        return self.log_likelihood(X)

    def perplexity(self, X: Any) -> float:
        """Held-out perplexity per token: exp(-log_likelihood(X)). Lower is better."""
        return float(np.exp(-self.log_likelihood(X)))


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    return dict(model.posterior_.arrays())


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    model.posterior_ = Posterior.from_arrays(arrays)
    if model.posterior_.n_terms != model.n_features_in_:
        raise ModelFileError("the model file's arrays and manifest disagree on the number of terms")


POSTERIOR = Saved(_pack, _unpack)
