"""`--model online-hdp`: fit, update, and what is said of its topics."""

from tests.cli.samples import KEEP_ALL

import bayou


def test_fit_update_and_look(invoke, files, tmp_path):
    words = ["fit", files / "pets.jsonl", "-m", "online-hdp", "-k", "8", "--seed", "0", *KEEP_ALL]
    done = invoke(*words, "--set", "n_passes=3", "-o", "m.bayou")
    model = bayou.load(tmp_path / "m.bayou").estimator_
    assert 1 <= model.n_topics_ <= 8
    assert len(done.stdout.strip().splitlines()) >= model.n_topics_
    seen = model.state_.n_seen
    done = invoke("update", "m.bayou", files / "pets.jsonl", "-o", "more.bayou")
    assert "Learned from" in done.stderr
    more = bayou.load(tmp_path / "more.bayou").estimator_
    assert more.state_.n_seen > seen
    assert more.state_.n_born >= model.state_.n_born
    assert "online-hdp" in invoke("models").stdout
    invoke("topics", "more.bayou")
    invoke("evaluate", "more.bayou", files / "pets.jsonl")
