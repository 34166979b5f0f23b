"""One process that tries cases: ``python -m tests.fuzz.worker FOLDER SEED CASE...``; one line per step."""

import resource
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from tests.fuzz import mutations, seeds
from tests.fuzz.blocks import file_of
from tests.oracle.answers import LEARNED, OF_DOCUMENTS, OF_MODEL
from tests.oracle.documents import fresh, fresh_corpus, news, texts

import bayou
from bayou.data import container
from bayou.data.errors import BayouError

MEMORY = 2 * 2**30  # bytes that one case may ask for
MAY_BE_NAN = {"diagnosis_"}  # figures that may be unknown
SKIP = {"label_ids_", "feature_names_in_"}


def targets_of(name):
    """What `partial_fit` gets beside documents, by the name of the file."""
    data = fresh().targets
    if "Regressor" in name:
        return data["numbers" if "numbers" in name else "number"]
    if "Med" in name or "BayesPA" in name:
        kinds = [kind for kind in ("labels", "binary") if kind in name]
        return data[kinds[0] if kinds else "classes"]
    return data["labels"] if any(word in name for word in ("Label", "Dependency")) else None


def calls(model, name):
    """The public methods with their arguments, by name."""
    if "TopicTracker" in name:
        X = news()[100:]
    else:
        X = texts()[:6] if name.startswith("text") else fresh_corpus()
    for key, (method, how) in OF_DOCUMENTS.items():
        if hasattr(type(model), method):
            yield key, lambda m=method, h=how: getattr(model, m)(X, **h)
    for key, (method, how) in OF_MODEL.items():
        if hasattr(type(model), method):
            yield key, lambda m=method, h=how: getattr(model, m)(**h)
    for key in LEARNED:
        if key not in SKIP:
            yield key, lambda k=key: getattr(model, k, None)
    if hasattr(type(model), "partial_fit"):
        y = None if "text" in name and "Med" not in name else targets_of(name)
        y = y[:6] if name.startswith("text") and y is not None else y
        yield "partial_fit", lambda: model.partial_fit(X, *([] if y is None else [y])) and None
        yield "transform after", lambda: model.transform(X) if hasattr(model, "transform") else None
    yield "save", lambda: save(model)


def save(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "m.bayou"))
        bayou.load(Path(folder, "m.bayou"))


def is_finite(value):
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, float | np.floating):
        return bool(np.isfinite(value))
    if isinstance(value, list | tuple):
        return all(map(is_finite, value))
    return all(map(is_finite, value.values())) if isinstance(value, dict) else True


def attempt(call):
    """What came of a call: ``ok``, ``typed``, or a finding."""
    try:
        value = call()
    except BayouError:
        return "typed"
    except MemoryError as error:
        return f"memory {error!s:.100}"
    except Exception as error:
        frame = error.__traceback__
        while frame.tb_next is not None:
            frame = frame.tb_next
        where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}"
        return f"untyped {type(error).__name__} at {where}: {error!s:.100}"
    return "ok" if is_finite(value) else "not finite"


def answers_of(path, name):
    """The outcome of every call for a file; the loading alone if that fails."""
    if name.startswith("checkpoint"):
        found = []

        def resume():
            found.append(seeds.resume(name.removeprefix("checkpoint ").replace("+", "/"), path))

        out = {"load": attempt(resume)}
        if found:
            out["transform"] = attempt(lambda: found[0].transform(fresh_corpus()))
        return out
    found = []
    out = {"load": attempt(lambda: found.append(bayou.load(path)))}
    if found:
        for key, call in calls(found[0], name):
            out[key] = attempt(call)
    return out


def main(folder, seed, *cases):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    files = sorted(Path(folder).glob("*.bayou"))
    valid, contents = {}, {}
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with tempfile.TemporaryDirectory() as own:
        path = Path(own, "case.bayou")
        for case in map(int, cases):
            file = files[file_of(case, len(files))]
            if file.stem not in valid:
                print(f"start {case} {file.stem}: unchanged", flush=True)
                path.write_bytes(file.read_bytes())
                valid[file.stem] = answers_of(path, file.stem)
            if file.stem not in contents:
                contents = {file.stem: container.load(file)}
            arrays, manifest = contents[file.stem]
            rng = np.random.default_rng([int(seed), case])
            arrays, manifest, told = mutations.change(rng, arrays, manifest)
            print(f"start {case} {file.stem}: {told}"[:400].replace("\n", " "), flush=True)
            try:
                container.save(path, arrays, manifest)
            except BayouError:
                print(f"end {case} typed", flush=True)
                continue
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, hard))
            out = answers_of(path, file.stem)
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
            bad = [
                f"{key} {what}" for key, what in out.items()
                if what not in ("ok", "typed") and what != valid[file.stem].get(key)
                and not (key in MAY_BE_NAN and what == "not finite")
            ]  # fmt: skip
            print(f"end {case} {' | '.join(bad) or out['load']}".replace("\n", " "), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
