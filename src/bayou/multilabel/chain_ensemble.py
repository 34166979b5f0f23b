"""Ensembles of classifier chains in different orders.

[Read11] Read, Pfahringer, Holmes, Frank. Classifier chains for multi-label classification. Machine Learning
85, 2011.
[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_array
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from bayou.data.checks import number, one_of, whole
from bayou.kernels.rng import BOOTSTRAP, MEMBER, key, with_replacement
from bayou.multilabel.block_chain import BlockClassifierChain
from bayou.multilabel.orders import LabelOrder, search
from bayou.multilabel.wrapping import F64, I64, Matrix, Wrapper


@dataclass(eq=False, repr=False)
class BlockChainEnsemble(Wrapper):
    """Chains in different orders that vote [Read11], no two of them too similar [Burkhardt18b].

    Orders are drawn at random. An order whose similarity to an earlier chain is above `max_similarity` is
    drawn again.

    Parameters
    ----------
    estimator : classifier
        As in `BlockClassifierChain`.
    n_chains : int
        Chains that vote [s].
    block_size : int or sequence of int
        Labels per block [b]; from several sizes each chain draws one.
    inside_out : bool
        As in `BlockClassifierChain`.
    max_similarity : float
        Largest similarity of two chains [theta], from 0 to 1. 0.99 rejects little but repetitions. Much
        smaller values make chains differ, but the chains are worse.
    max_fails : int
        Number of consecutive rejections after which `max_similarity` is raised by 0.05 [m].
    vote : {"mean", "share"}
        Mean of the chains' probabilities, or share of chains that give a label.
    bootstrap : bool
        Fit each chain to documents drawn with replacement, as many as there are [Read11]. Chains of trees
        gain most, since they differ little otherwise.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Processes, each for one chain at a time; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        Names of the labels.
    estimators_ : list of BlockClassifierChain

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]] * 5
    >>> Y = [["b"], ["a"], ["a", "b"], []] * 5
    >>> model = BlockChainEnsemble(LogisticRegression(C=10), n_chains=3, random_state=0).fit(X, Y)
    >>> model.predict_labels([[0, 1], [0, 0]])
    [['b'], []]
    """

    estimator: Any
    _: KW_ONLY
    n_chains: int = 20
    block_size: int | Sequence[int] = 1
    inside_out: bool = False
    max_similarity: float = 0.99
    max_fails: int = 50
    vote: str = "mean"
    bootstrap: bool = False
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the orders and fit the chains; X and y as in `BlockClassifierChain.fit`."""
        whole("n_chains", self.n_chains, 1)
        whole("max_fails", self.max_fails, 0)
        number("max_similarity", self.max_similarity, 0.0, 1.0)
        one_of("vote", self.vote, ("mean", "share"))
        sizes = self._block_sizes()
        matrix, truth = self._read(X, y)
        self.seed_ = self._resolve_seed()
        found = search(
            self.n_chains, truth.indicator.shape[1], sizes, bool(self.inside_out),
            self.max_similarity, self.max_fails, self.seed_,
        )  # fmt: skip
        members = [self._member(chain, i) for i, chain in enumerate(found)]
        rows = [self._rows(matrix.shape[0], i) for i in range(len(members))]
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_chain)(member, matrix[at], csr_array(truth.indicator[at]))
            for member, at in zip(members, rows, strict=True)
        )
        return self

    def _rows(self, n_docs: int, i: int) -> I64:
        """The documents of one chain: all of them, or the same number drawn with replacement."""
        if not self.bootstrap:
            return np.arange(n_docs)
        drawn: I64 = with_replacement(n_docs, np.uint64(key(self.seed_, BOOTSTRAP, i, 0)))
        return drawn

    def _block_sizes(self) -> list[int]:
        given = self.block_size
        sizes = [given] if isinstance(given, int | np.integer) else list(given)
        if not sizes:
            raise ValueError("block_size must be a whole number or a list of them; got none")
        for size in sizes:
            whole("block_size", size, 1)
        return [int(size) for size in sizes]

    def _member(self, chain: LabelOrder, i: int) -> BlockClassifierChain:
        return BlockClassifierChain(
            self.estimator,
            block_size=chain.block_size,
            inside_out=chain.inside_out,
            order=chain.order,
            random_state=int(key(self.seed_, MEMBER, i, 0)) & 0xFFFFFFFF,
        )

    def predict_proba(self, X: Any) -> F64:
        """Votes of the chains (documents, labels): mean probabilities, or shares of chains."""
        check_is_fitted(self)
        return self._columns(self._votes(self._documents(X, reset=False)))

    def _votes(self, X: Matrix) -> F64:
        share = self.vote == "share"
        total = np.zeros((X.shape[0], self._n_labels()))
        at_once = effective_n_jobs(self.n_jobs)  # at most these are in memory
        for start in range(0, len(self.estimators_), at_once):
            members = self.estimators_[start : start + at_once]
            tasks = (delayed(_chain_votes)(member, X, share) for member in members)
            # in the order of chains, so that rounding does not depend on n_jobs
            for votes in Parallel(n_jobs=self.n_jobs)(tasks):
                total += votes
        return total / len(self.estimators_)

    def predict(self, X: Any) -> Any:
        """The labels with more than half of the votes, in the form that y had."""
        check_is_fitted(self)
        return self._answers(self._votes(self._documents(X, reset=False)) > 0.5)


def _fit_chain(
    chain: BlockClassifierChain, X: Matrix, indicator: csr_array
) -> BlockClassifierChain:
    return chain.fit(X, indicator)


def _chain_votes(chain: BlockClassifierChain, X: Matrix, share: bool) -> F64:
    found = chain._probabilities(X)
    return (found > 0.5).astype(np.float64) if share else found
