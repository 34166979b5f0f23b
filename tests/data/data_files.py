"""Small files in every format that bayou reads."""

import csv
import gzip
import io
import json

import numpy as np
import pytest
import scipy.sparse as sp

RECORDS = [
    {"id": "a", "text": 'the cat sat, "quoted"\nnew line', "label": "x", "target": 1.5},
    {"id": "b", "text": "", "label": "y", "target": -2},
    {"id": "c", "text": "Ünïcode 语言文字 tab\there", "label": "x", "target": 0},
]


TEXT_FORMATS = ["jsonl", "csv", "tsv", "parquet"]


def jsonl_bytes(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def csv_bytes(records, delimiter=","):
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(records[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue().encode()


def parquet_bytes(records):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records), out)
    return out.getvalue()


def text_bytes(format, records):
    match format:
        case "jsonl":
            return jsonl_bytes(records)
        case "csv":
            return csv_bytes(records)
        case "tsv":
            return csv_bytes(records, "\t")
        case "parquet":
            return parquet_bytes(records)


def write(path, raw):
    path.write_bytes(gzip.compress(raw, 1) if path.name.endswith(".gz") else raw)
    return path


def svmlight_bytes(counts, labels):
    lines = []
    for row, names in zip(counts, labels, strict=True):
        entries = "".join(f" {v}:{row[v]:g}" for v in np.flatnonzero(row))
        lines.append(",".join(map(str, names)) + entries + "\n")
    return "".join(lines).encode()


def uci_bytes(counts):
    coo = sp.coo_array(counts)
    head = f"{counts.shape[0]}\n{counts.shape[1]}\n{coo.nnz}\n"
    rows, columns = coo.coords
    body = "".join(
        f"{d + 1} {v + 1} {n:g}\n" for d, v, n in zip(rows, columns, coo.data, strict=True)
    )
    return (head + body).encode()


COUNTS = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 30, 0, 0], [0, 0, 0, 0], [4, 0, 0, 5]])


LABELS = [[0, 2], [1], [], [], [2]]
