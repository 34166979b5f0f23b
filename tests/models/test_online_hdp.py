"""OnlineHDP: what a stream keeps, how many topics it finds, births, deaths, files."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference.blocks import block_corpus, matched_hellinger

from bayou import Corpus, ModelFileError, OnlineHDP, load
from bayou.api import passes
from bayou.api.streaming import copy_state
from bayou.data import container
from bayou.data.synthetic import sample_lda
from bayou.data.vocabulary import Vocabulary
from bayou.inference.hdp import root
from bayou.models.online_hdp import BIRTHS, HYBRID
from bayou.testing.cases import file_bytes

CORPUS, TOPICS = block_corpus()
INFERENCES = [HYBRID, BIRTHS]
EACH = pytest.mark.parametrize("inference", INFERENCES)


def model_of(**given):
    return OnlineHDP(**{"n_topics": 12, "batch_size": 40, "random_state": 0} | given)


def mass(model):
    """Sum of n_vk in double precision."""
    return model.state_.scale * model.state_.raw.sum(dtype=np.float64)


@EACH
def test_blocks_are_found(inference):
    slow = {"tau": 10.0, "kappa": 0.6}  # many passes over few documents
    model = model_of(inference=inference, n_passes=30, tol=0.0, alpha=1.0, **slow).fit(CORPUS)
    assert 3 <= model.n_topics_ < 12
    shares = model.posterior_.topic_tokens / model.posterior_.topic_tokens.sum()
    assert shares[:3].sum() > 0.5
    assert (np.diff(shares) <= 0).all()  # the most used first
    blocks = model.components_ @ (TOPICS > 0).T  # how much of each topic lies in which block
    assert (blocks[shares > 0.02].max(axis=1) > 0.95).all()
    assert set(blocks[:3].argmax(axis=1)) == {0, 1, 2}
    if inference == HYBRID:
        assert matched_hellinger(model.components_[:3], TOPICS) < 0.2


@pytest.mark.parametrize("n_docs", [None, 1000])
def test_counts_and_tables_are_blended(n_docs):
    """n <- (1 - rho) n + rho gain n_batch, and tables likewise, while no topic dies."""
    model = model_of(n_topics=4, n_docs=n_docs, batch_size=30)
    model.partial_fit(CORPUS[:30])
    for lo in range(30, 240, 30):
        batch, before, tables = CORPUS[lo : lo + 30], mass(model), model.state_.tables.sum()
        model.partial_fit(batch)
        rho = (1.0 + model.state_.step) ** -0.7
        gain = (n_docs or lo + 30) / 30
        assert mass(model) == pytest.approx(
            (1 - rho) * before + rho * gain * batch.n_tokens, rel=1e-5
        )
        s = model.state_
        assert s.n_died == 0
        opened = (s.tables.sum() - (1 - rho) * tables) / (rho * gain)
        assert 30 <= opened <= batch.n_tokens  # a table a document at least, a token each at most
        np.testing.assert_allclose(s.topic, s.scale * s.raw.sum(axis=0), rtol=1e-4)
        np.testing.assert_allclose(model.posterior_.rows.sum(axis=0), 1.0, rtol=1e-5)
        assert root.shares(s.tables, s.gamma).sum() == pytest.approx(1.0)


def test_one_slot_tends_to_the_distribution_of_terms():
    model = OnlineHDP(
        n_topics=1, n_passes=400, batch_size=240, tau=0.001, beta=0.5, tol=0.0, learn_alpha=False,
        random_state=0,
    )  # fmt: skip
    counts = CORPUS.term_counts() + 0.5
    model.fit(CORPUS)
    assert model.n_topics_ == 1
    np.testing.assert_allclose(model.components_[0], counts / counts.sum(), rtol=1e-3)


@pytest.mark.parametrize("batch_size", [50, 100, 1000])
@EACH
def test_the_cut_of_a_stream_changes_nothing(inference, batch_size):
    """In 1, 4, 10 or 240 calls: the same file, the same predictions, the same number of steps."""
    made = []
    for n_calls in (1, 4, 10, 240):
        model = model_of(inference=inference, batch_size=batch_size)
        for lo, hi in pairwise(np.linspace(0, 240, n_calls + 1).astype(int)):
            model.partial_fit(CORPUS[lo:hi])
        made.append(model)
    assert len({file_bytes(model) for model in made}) == 1
    assert len({model.transform(CORPUS[:20]).tobytes() for model in made}) == 1
    assert len({(model.topic_ids_.tobytes(), model.n_topics_interval()) for model in made}) == 1
    for model in made:
        assert model.n_iter_ == 240 // batch_size
        assert model.pending_.n_docs == 240 % batch_size
        assert (model.state_ is None) == (batch_size > 240)


@EACH
def test_partial_fit_cuts_what_it_is_given_into_batches(inference):
    given = {"inference": inference, "batch_size": 100, "n_docs": 240}
    at_once, piecewise = model_of(**given).partial_fit(CORPUS), model_of(**given)
    for lo in (0, 100, 200):
        piecewise.partial_fit(CORPUS[lo : lo + 100])
    assert file_bytes(at_once) == file_bytes(piecewise)
    assert (at_once.state_.step, at_once.pending_.n_docs) == (2, 40)


@EACH
def test_predictions_include_documents_that_wait(inference):
    """As if the unfinished mini-batch had ended with them; the next call does not start from there."""
    given = {"inference": inference, "n_docs": 240, "batch_size": 100}
    waiting = model_of(**given).partial_fit(CORPUS[:130])
    ended = model_of(**given).partial_fit(CORPUS[:100])
    before = ended.components_
    ended.set_params(batch_size=30).partial_fit(CORPUS[100:130])
    np.testing.assert_array_equal(waiting.components_, ended.components_)
    np.testing.assert_array_equal(waiting.topic_ids_, ended.topic_ids_)
    assert waiting.concentrations_ == ended.concentrations_
    assert (waiting.n_topics_, waiting.n_large_) == (ended.n_topics_, ended.n_large_)
    assert waiting.n_topics_interval() == ended.n_topics_interval()
    assert waiting.components_.tobytes() != before.tobytes()
    at_once = model_of(**given).partial_fit(CORPUS)
    assert file_bytes(waiting.partial_fit(CORPUS[130:])) == file_bytes(at_once)


@EACH
def test_terms_change_while_documents_wait(inference):
    """The vocabulary loses terms and gets new ones; documents that wait move with it."""
    keep = np.delete(np.arange(30), [3, 7])
    names = [*(CORPUS.vocabulary[v] for v in keep), "new one", "new two", "new three"]
    model = model_of(inference=inference).partial_fit(CORPUS[:130])
    state, waiting = copy_state(model.state_), model.pending_
    gone = model._change_terms(keep, Vocabulary(names))
    lost = state.scale * state.raw[[3, 7]].sum(axis=0, dtype=np.float64)
    assert gone == pytest.approx(lost.sum(), rel=1e-6)
    moved = model.state_
    np.testing.assert_array_equal(moved.raw[:28], state.raw[keep])
    assert not moved.raw[28:].any()
    fewer = moved.topic < state.topic
    assert (moved.tables[fewer] <= moved.topic[fewer]).all()  # not more tables than tokens
    np.testing.assert_array_equal(moved.tables[~fewer], state.tables[~fewer])
    dense = csr_array((waiting.counts, waiting.terms, waiting.indptr), (10, 30)).toarray()
    later = np.random.default_rng(0).poisson(1.0, (35, 31))
    expected = OnlineHDP(**model.get_params())
    expected.partial_fit(
        Corpus.from_matrix(later, vocabulary=names)
    )  # another stream of these terms
    expected.state_, expected.pending_ = copy_state(moved), expected.pending_.none()
    old = np.hstack([dense[:, keep], np.zeros((10, 3))])
    expected.partial_fit(Corpus.from_matrix(np.vstack([old, later]), vocabulary=names))
    model.partial_fit(Corpus.from_matrix(later, vocabulary=names))
    assert file_bytes(model) == file_bytes(expected)
    assert model.state_.n_seen == 160
    assert model.pending_.n_docs == 5


@EACH
def test_a_loaded_stream_goes_on_bit_for_bit(inference, tmp_path):
    model = model_of(inference=inference).partial_fit(CORPUS[:120])
    model.save(tmp_path / "m")
    other = load(tmp_path / "m").partial_fit(CORPUS[120:])
    assert file_bytes(other) == file_bytes(model.partial_fit(CORPUS[120:]))
    assert other.n_topics_ == model.n_topics_


def test_documents_read_again_lose_their_own_counts():
    """More documents than there are: `partial_fit` with n_docs knows them, without it does not."""
    first = model_of(n_docs=240, learn_gamma=False).partial_fit(CORPUS)
    alpha = first.state_.alpha
    assert alpha != 10.0  # learned from new documents
    assert first.partial_fit(CORPUS).state_.alpha == alpha  # and not from old ones
    fresh = model_of(learn_gamma=False).partial_fit(CORPUS).partial_fit(CORPUS)
    assert fresh.state_.alpha != alpha


def test_alpha_is_judged_by_documents_kept_out():
    model = model_of(n_passes=15, tol=0.0).fit(CORPUS)
    assert model.state_.alpha < 2.0  # the documents were drawn with 0.3 in all
    assert model.state_.n_seen == 240  # those kept out came in at the end
    assert model.state_.step == 15 * 6 + 1
    fixed = model_of(learn_alpha=False, learn_gamma=False, n_passes=2).fit(CORPUS)
    assert (fixed.state_.alpha, fixed.state_.gamma) == (12.0, 1.0)  # documents of 60 tokens
    assert fixed.state_.step == 12


def planted(n_terms=60):
    """Half a stream of two themes, then as much of a third, in words that were never used before."""
    rng = np.random.default_rng(0)
    docs = np.zeros((400, n_terms))
    for d in range(400):
        block = (d % 2) * 20 if d < 200 else 40
        docs[d] = rng.multinomial(
            40, np.bincount(np.arange(block, block + 20), minlength=n_terms) / 20
        )
    return Corpus.from_matrix(docs)


@EACH
def test_a_new_theme_is_born_in_a_spare_slot_and_an_old_one_dies(inference):
    corpus = planted()
    model = model_of(inference=inference, n_topics=15, batch_size=20, alpha=1.0, n_docs=400)
    model.partial_fit(corpus[:200])
    if inference == HYBRID:
        for _ in range(10):  # topics that are alike become one, those nobody needs die
            model.partial_fit(corpus[:200])
    before, n_born = set(model.state_.ids.tolist()), model.state_.n_born
    assert (model.state_.ids == root.SPARE).any()
    model.partial_fit(corpus[200:])
    s = model.state_
    assert s.n_born > n_born
    born = [k for k in model.topic_ids_ if k not in before]
    assert born
    assert min(born) >= n_born  # no number is given again
    theme = model.components_[model.topic_ids_.tolist().index(born[0])]
    assert theme[40:].sum() > 0.9
    for _ in range(40):
        model.partial_fit(corpus[200:])
    gone = before - set(model.topic_ids_.tolist())
    assert gone  # the old themes have not been seen for long
    assert model.state_.n_died > 0
    named = model.state_.ids[model.state_.ids != root.SPARE]
    assert len(set(named)) == len(named) == model.state_.n_born - model.state_.n_died
    dead = model.state_.ids == root.SPARE
    if inference == BIRTHS:
        assert not model.state_.raw[:, dead].any()


def test_how_sure_it_is():
    model = model_of(n_passes=5).fit(CORPUS)
    low, high = model.n_topics_interval(level=0.9)
    assert low <= model.n_topics_ <= high
    large = model.n_topics_interval(level=0.9, large=True)
    assert large[0] <= model.n_large_ <= large[1] <= high
    assert model.n_large_ <= model.n_topics_
    wide = model.n_topics_interval(level=0.999)
    assert wide[0] <= low
    assert wide[1] >= high
    with pytest.raises(ValueError, match="level must be a number"):
        model.n_topics_interval(level=2.0)
    assert len(model.topic_ids_) == model.n_topics_ == len(model.components_)


@EACH
def test_documents_without_tokens_alone(inference):
    model = model_of(inference=inference).partial_fit(np.zeros((5, 30)))
    assert np.isfinite(model.components_).all()
    assert model.n_topics_ >= 1
    model.partial_fit(CORPUS)
    np.testing.assert_allclose(model.transform(CORPUS).sum(axis=1), 1.0)


BAD = [
    ({"n_topics": 0}, "n_topics must be a whole number"),
    ({"alpha": 0.0}, "alpha must be a positive number"),
    ({"alpha": [1.0]}, "alpha must be a positive number"),
    ({"gamma": -1.0}, "gamma must be a positive number"),
    ({"gamma": None}, "gamma must be a positive number"),
    ({"inference": "scvb0"}, "inference must be one of 'hybrid', 'truncation-free'"),
    ({"kappa": 0.5}, "kappa must be above 0.5"),
    ({"n_samples": 0}, "n_samples must be a whole number"),
]


@pytest.mark.parametrize(("params", "message"), BAD, ids=lambda x: str(x)[:40])
def test_bad_parameters_are_refused(params, message):
    model = model_of(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(CORPUS)
    assert not hasattr(model, "state_")


def test_another_ceiling_needs_another_model():
    model = model_of().partial_fit(CORPUS)
    with pytest.raises(ValueError, match="n_topics is 3 but this stream has 12; start another"):
        model.set_params(n_topics=3).partial_fit(CORPUS)


DAMAGE = [
    ("ids", np.zeros_like, "impossible numbers"),
    ("n_born", lambda a: np.array(1), "impossible numbers"),
    ("tables", lambda a: -1.0 - a, "impossible numbers"),
    ("alpha", lambda a: -a, "'alpha' is impossible"),
    ("ids", lambda a: a - 5, "impossible numbers"),
    ("ids", lambda a: a.astype(np.int32), "does not fit"),
    ("n_died", lambda a: -1 - a, "'n_died' is impossible"),
    ("raw", lambda a: a[:, :0], "does not fit"),
    ("tables", lambda a: a[:2], "does not fit"),
]


@pytest.mark.parametrize(("name", "change", "message"), DAMAGE)
def test_damaged_files_are_refused(name, change, message, tmp_path):
    model = model_of().partial_fit(CORPUS[:40])
    arrays = model._payload()
    arrays[f"state.{name}"] = change(arrays[f"state.{name}"])
    container.save(tmp_path / "m", arrays, model._manifest("model"))
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m")


def test_documents_without_words_say_nothing():
    model = OnlineHDP(n_topics=5, batch_size=4, random_state=0).fit(np.zeros((8, 6)))
    assert model.n_topics_ == 1
    assert model.n_topics_interval() == model.n_topics_interval(level=1.0) == (1, 1)
    words = OnlineHDP(n_topics=5, batch_size=6, random_state=0).partial_fit(np.eye(6) * 3)
    before = words.concentrations_[0]
    words.partial_fit(np.zeros((3, 6)))  # they wait
    assert words.concentrations_[0] == pytest.approx(before, rel=1e-12)
    words.partial_fit(np.zeros((3, 6)))
    assert words.state_.step == 2
    assert words.concentrations_[0] == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("n_topics", [15, 120])
def test_the_number_of_planted_topics_does_not_follow_the_ceiling(n_topics):
    corpus, _ = sample_lda(n_docs=200, n_topics=4, n_terms=60, seed=1)
    model = OnlineHDP(n_topics=n_topics, random_state=0, tol=0.0).fit(corpus)
    assert 4 <= model.n_topics_ <= 7
    assert model.state_.step % 24 == 2  # 190 documents, eight at a time; at last the ten kept out


def test_few_documents_are_scored_where_they_are_long(monkeypatch):
    monkeypatch.setattr(passes, "N_SCORED", (500, 400))
    some = passes._sample(CORPUS, np.arange(CORPUS.n_docs))
    assert 1 < some.n_docs < 40
    assert 300 < some.n_tokens <= 400
    assert passes._sample(CORPUS[:3], np.arange(3)).n_docs == 3
    monkeypatch.setattr(passes, "N_SCORED", (500, 0))
    assert passes._sample(CORPUS, np.arange(CORPUS.n_docs)).n_docs == 1


def test_a_discount_is_learned_from_and_kept(tmp_path):
    model = model_of(discount=0.3, n_passes=6, tol=0.0).fit(CORPUS)
    assert mass(model) == pytest.approx(CORPUS.counts.sum(), rel=0.05)
    plain = model_of(n_passes=6, tol=0.0).fit(CORPUS)
    assert (
        model.state_.tables.sum() > plain.state_.tables.sum()
    )  # more tables of the same documents
    model.save(tmp_path / "model.bayou")
    again = load(tmp_path / "model.bayou")
    assert again.discount == 0.3
    rest = CORPUS[:60]
    np.testing.assert_array_equal(
        again.partial_fit(rest).components_, model.partial_fit(rest).components_
    )


def test_a_stream_with_a_discount_does_not_depend_on_cuts():
    whole = model_of(discount=0.3, n_docs=CORPUS.n_docs).partial_fit(CORPUS)
    cut = model_of(discount=0.3, n_docs=CORPUS.n_docs)
    for lo in range(0, CORPUS.n_docs, 25):
        cut.partial_fit(CORPUS[lo : lo + 25])
    np.testing.assert_array_equal(cut.state_.raw, whole.state_.raw)


def test_births_have_no_discount():
    with pytest.raises(ValueError, match="has no discount"):
        model_of(discount=0.3, inference=BIRTHS).fit(CORPUS)
