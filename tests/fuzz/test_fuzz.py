"""A bounded run of the fuzzer, and the long one."""

import os
import time

import pytest
from tests.fuzz import run, seeds

SOME = (
    "LDA/fast",
    "OnlineLDA/scvb0",
    "OnlineMedLDAClassifier/averaging labels",
    "LabeledLDA/cvb0 labels",
)


def found_in(folder, seed, n, seconds, bounds):
    until = time.monotonic() + seconds
    tried = list(run.try_cases(str(folder), seed, range(n), until, bounds))
    return tried, [one for one in tried if one[2] not in ("ok", "typed")]


def test_changed_files_are_refused_or_answered(tmp_path):
    for name in SOME:
        seeds.fit(name).save(tmp_path / f"model {name.replace('/', '+')}.bayou")
    seeds.write_checkpoint("LDA/gibbs draws", tmp_path / "checkpoint LDA+gibbs draws.bayou")
    tried, found = found_in(tmp_path, int(time.time()), 250, 45.0, bounds=False)
    assert found == []
    assert {outcome for _, _, outcome in tried} == {"ok", "typed"}


@pytest.mark.slow
def test_fifty_thousand_cases(tmp_path):
    run.write_seeds(str(tmp_path))
    tried = list(run.try_in_parallel(str(tmp_path), 20, range(50_000), os.cpu_count() or 1))
    assert [one for one in tried if one[2] not in run.OUTCOMES] == []
    assert len(tried) == 50_000


def test_cases_do_not_depend_on_workers(tmp_path):
    for name in ("LDA/fast", "OnlineLDA/scvb0"):
        seeds.fit(name).save(tmp_path / f"model {name.replace('/', '+')}.bayou")
    cases = range(40, 60)  # the end of the block of one file and the beginning of the other's
    one, two = (sorted(run.try_in_parallel(str(tmp_path), 3, cases, n)) for n in (1, 2))
    assert one == two
    assert [case for case, _, _ in one] == [*cases]
