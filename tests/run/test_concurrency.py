"""Threads, processes, copies and interruptions: the same answers, whole files, no growing memory."""

import concurrent.futures
import copy
import gc
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest

import bayou
from bayou.data.synthetic import sample_lda
from bayou.testing.cases import fit

warnings.filterwarnings("ignore", category=bayou.data.DoubtWarning)

CORPUS = sample_lda(40, 3, 30, doc_length=20, seed=1)[0]
MODELS = (
    bayou.LDA(n_topics=3, n_sweeps=5, random_state=0),
    bayou.LDA(n_topics=3, n_sweeps=5, inference="gibbs", random_state=0),
    bayou.OnlineLDA(n_topics=3, batch_size=16, random_state=0),
    bayou.HDP(n_sweeps=5, random_state=0),
    bayou.MedLDAClassifier(n_topics=3, n_sweeps=6, n_kept=2, random_state=0),
    bayou.OnlineMedLDAClassifier(n_topics=3, batch_size=16, random_state=0),
    bayou.BayesPAClassifier(random_state=0),
    bayou.LabeledLDA(n_sweeps=5, random_state=0),
)
NAMES = [f"{number} {type(model).__name__}" for number, model in enumerate(MODELS)]


def answer(model):
    """The rows of a model for all documents; at module level, so that processes can call it."""
    method = "predict_proba" if hasattr(model, "predict_proba") else "transform"
    method = method if hasattr(model, method) else "decision_function"
    return np.asarray(getattr(model, method)(CORPUS))


@pytest.fixture(params=MODELS, ids=NAMES, scope="module")
def model(request):
    return fit(copy.deepcopy(request.param), CORPUS)


def test_eight_threads_predict_at_once(model):
    right = answer(model)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: answer(model), range(32)):
            assert np.array_equal(found, right)


def test_copies_answer_alike(model):
    right = answer(model)
    for one in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(answer(one), right)


def test_forked_processes_answer_alike(model):
    right = answer(model)  # threads of the parent have worked before
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for found in pool.map(answer, [model] * 4):
            assert np.array_equal(found, right)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["spawn", "joblib"])
def test_new_processes_answer_alike(way):
    fitted = [fit(copy.deepcopy(one), CORPUS) for one in MODELS]
    if way == "joblib":
        found = joblib.Parallel(2)(joblib.delayed(answer)(one) for one in fitted)
    else:
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            found = pool.map(answer, fitted)
    for one, rows in zip(fitted, found, strict=True):
        assert np.array_equal(rows, answer(one))


SAVER = """
import sys, bayou
from bayou.data.synthetic import sample_lda
corpus = sample_lda(40, 3, 30, doc_length=20, seed=1)[0]
model = bayou.LDA(n_topics=3, n_sweeps=5, random_state=0)
print("ready", flush=True)
while True:
    model.fit(corpus).save(sys.argv[1])
    print("saved", flush=True)
"""


@pytest.mark.slow
def test_ctrl_c_at_any_moment_leaves_a_whole_file(tmp_path):
    path, draw = tmp_path / "m.bayou", random.Random(0)
    for _ in range(40):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        while process.stdout.readline() != b"saved\n":
            assert process.poll() is None
        time.sleep(draw.random() * 0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode != 0
        bayou.load(path)
        assert [one.name for one in tmp_path.iterdir()] == ["m.bayou"]


def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize("one", MODELS, ids=NAMES)
def test_no_memory_is_lost_over_a_thousand_fits(one):
    def repeat(n):
        for _ in range(n):
            answer(fit(copy.deepcopy(one), CORPUS))

    repeat(50)
    before = resident()
    repeat(1000)
    grown = (resident() - before) / 1e6
    print(f"{type(one).__name__}: {grown:+.1f} MB over 1,000 fits and predictions")
    assert grown < 8.0  # 8 kB per fit
