"""Kafka topics, with the mock cluster of the client; no broker was available to test with."""

import json
import random
import sys

import pytest
from tests.run.toy import interrupted, rows, run

pytest.importorskip("confluent_kafka")

from tests.data.streams.kafka_mock import mock_cluster

from bayou.data import DataError
from bayou.data.records import Options
from bayou.data.streams import kafka as module
from bayou.data.streams.addresses import SourceSettings, open_sink, open_source
from bayou.data.streams.kafka import KafkaSource
from bayou.data.streams.kafka_client import SETTINGS

NOW = 1_700_000_000_000


@pytest.fixture(scope="module")
def mock():
    with mock_cluster() as found:
        yield found


@pytest.fixture
def topic(request):
    return request.node.name.replace("[", ".").replace("]", "")


def document(i):
    return json.dumps({"id": f"d{i}", "text": f"text {i}"}).encode()


def fill(mock, topic, n, at=0, partitions=3):
    """Documents over partitions, unevenly; timestamps grow with the number, three alike."""
    draw = random.Random(at)
    part = [min(draw.randrange(partitions + 1), partitions - 1) for _ in range(n)]
    mock.send(topic, [(part[i], NOW + (at + i) // 3, document(at + i)) for i in range(n)])
    return part


def source(mock, topic, follow=False, **options):
    return open_source([mock.url(topic)], SourceSettings(follow=follow, options=Options(**options)))


def read_all(found, position=None, n=7):
    found.begin(position, None)
    items = []
    while not found.ended:
        items += found.read(n, 0.25)
    return items


def test_partitions_are_merged_by_timestamp(mock, topic, tmp_path):
    part = fill(mock, topic, 60)
    wanted = sorted(range(60), key=lambda i: (i // 3, part[i], i))
    toy = run(tmp_path, source(mock, topic))
    assert toy.n_learned == 60
    assert [row["id"] for row in rows(tmp_path)] == [f"d{i}" for i in wanted]


def test_a_second_run_reads_what_is_new(mock, topic, tmp_path):
    fill(mock, topic, 30)
    run(tmp_path, source(mock, topic))
    fill(mock, topic, 12, at=30)
    assert run(tmp_path, source(mock, topic)).n_learned == 42
    assert sorted(row["n"] for row in rows(tmp_path)) == list(range(1, 43))
    assert {row["id"] for row in rows(tmp_path)} == {f"d{i}" for i in range(42)}


def test_whatever_is_interrupted_is_counted_once(mock, topic, tmp_path, monkeypatch):
    fill(mock, topic, 60)
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    whole = run(one, source(mock, topic))
    steps = ((KafkaSource, "read"), (KafkaSource, "_receive"), (KafkaSource, "acknowledge"))
    toy, killed = interrupted(
        monkeypatch, random.Random(2), 30, steps, lambda: run(other, source(mock, topic))
    )
    assert killed > 3
    assert toy.digest == whole.digest
    assert rows(other) == rows(one)


def test_the_order_does_not_depend_on_how_many_are_asked_for(mock, topic):
    fill(mock, topic, 50)
    one = [item.where for item in read_all(source(mock, topic), n=1)]
    assert [item.where for item in read_all(source(mock, topic), n=50)] == one
    assert len(one) == 50


def test_a_partition_that_is_ahead_is_paused(mock, topic, monkeypatch):
    monkeypatch.setattr(module, "_FULL_MESSAGES", 5)
    monkeypatch.setattr(module, "_CALL", 3)
    late = [(1, NOW + 1000 + i, document(i)) for i in range(40)]
    early = [(0, NOW + i, document(100 + i)) for i in range(40)]
    mock.send(topic, [*late, *early])
    found = source(mock, topic)
    items = read_all(found)
    assert [item.record["id"] for item in items] == [
        f"d{i}" for i in (*range(100, 140), *range(40))
    ]


def test_messages_that_are_no_documents_are_dead_letters(mock, topic, tmp_path):
    bad = [None, b"\xff\xfe", b"{broken", b"[1]", b"[" * 100_000, b'{"id": "x", "text": "%s"}']
    bad[-1] %= b"y" * 2_000
    mock.send(topic, [(0, NOW + i, value) for i, value in enumerate(bad)])
    mock.send(topic, [(0, NOW + 10 + i, document(i)) for i in range(4)])
    assert run(tmp_path, source(mock, topic, max_line_bytes=1_000)).n_learned == 4
    reasons = [row["reason"] for row in rows(tmp_path, "dead.jsonl")]
    assert len(reasons) == 6
    assert reasons[0] == "the message has no value"
    assert "UTF-8" in reasons[1]
    assert "longer than 1000 bytes" in reasons[5]
    assert rows(tmp_path, "dead.jsonl")[2]["id"].endswith("partition 0, offset 2")


def test_messages_that_the_broker_deleted_are_reported(mock, topic):
    """The mock keeps 5 MB of a partition."""
    mock.send(topic, [(0, NOW, document(0))])
    found = source(mock, topic)
    read_all(found)
    position = found.position()
    found.close()
    mock.send(topic, [(0, NOW + i, b'{"text": "%s"}' % (b"x" * 500_000)) for i in range(30)])
    again, said = source(mock, topic), []
    again.remarks = said.append
    items = read_all(again, position)
    low = 31 - len(items)
    assert low > 1
    assert f"deleted offsets 1 to {low - 1} of partition 0" in said[0]
    assert f"{low - 1} offsets are lost" in said[0]


def test_messages_deleted_while_the_stream_reads(mock, topic):
    mock.send(topic, [(0, NOW + i, document(i)) for i in range(3)])
    found, said = source(mock, topic, follow=True), []
    found.remarks = said.append
    found.begin(None, None)
    assert len(found.read(3, 5.0)) == 3
    found._consumer.pause([module.client_module().TopicPartition(topic, 0)])
    mock.send(topic, [(0, NOW + i, b'{"text": "%s"}' % (b"x" * 500_000)) for i in range(30)])
    found._consumer.resume([module.client_module().TopicPartition(topic, 0)])
    got = []
    for _ in range(100):
        got += found.read(50, 0.25)
        if got and found.position()["offsets"]["0"] == 33:
            break
    lost = 30 - len(got)
    assert lost > 0
    assert f"{lost} offsets are lost" in said[0]
    found.close()


def test_a_topic_that_was_created_again_is_refused(mock, topic):
    fill(mock, topic, 5)
    with pytest.raises(DataError, match=r"ends at offset \d, but offsets up to 89 were read"):
        source(mock, topic).begin({"offsets": {"0": 90}}, None)
    with pytest.raises(DataError, match="partition 9 no longer exists"):
        source(mock, topic).begin({"offsets": {"9": 1}}, None)
    with pytest.raises(DataError, match="check the name of the topic"):
        source(mock, "absent").begin(None, None)


def test_new_partitions_are_found(mock, topic, monkeypatch):
    """The mock cannot add partitions: two of its four are hidden at first."""
    mock.send(topic, [(part, NOW + part, document(part)) for part in range(4)])
    found = source(mock, topic, follow=True)
    monkeypatch.setattr(module, "_LOOK", 0.0)
    shown = {0, 1}
    make = module.make_consumer

    class Hiding:
        def __init__(self, *given):
            self._real = make(*given)

        def __getattr__(self, name):
            return getattr(self._real, name)

        def list_topics(self, name, timeout):
            told = self._real.list_topics(name, timeout)
            parts = told.topics[name].partitions
            told.topics[name].partitions = {n: parts[n] for n in parts if n in shown}
            return told

    monkeypatch.setattr(module, "make_consumer", Hiding)
    found.begin(None, None)
    first = found.read(10, 5.0)
    assert {item.record["id"] for item in first} == {"d0", "d1"}
    shown |= {2, 3}
    rest = []
    for _ in range(40):
        rest += found.read(10, 0.25)
    assert {item.record["id"] for item in rest} == {"d2", "d3"}
    assert found.position() == {"offsets": {str(n): 1 for n in range(4)}}
    assert found.lag() == 0
    found.close()


def test_offsets_at_the_broker_are_not_used(mock, topic, tmp_path):
    fill(mock, topic, 20)
    run(tmp_path, source(mock, topic))
    other = tmp_path / "other"
    other.mkdir()
    assert run(other, source(mock, topic)).n_learned == 20


def test_a_broker_that_is_away(tmp_path):
    found = open_source(["kafka://127.0.0.1:1/news"], SourceSettings())
    found.patience.seconds, said = 0.5, []
    found.patience.told = said.append
    module_answer, module._ANSWER = module._ANSWER, 0.3
    try:
        with pytest.raises(DataError, match="start again when it is available"):
            found.begin(None, None)
    finally:
        module._ANSWER = module_answer
    assert "is unavailable" in said[0]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("kafka://host:9092", "does not name a topic"),
        ("kafka:///news", "does not name a topic"),
        ("kafka://host/a/b", "does not name a topic"),
        ("kafka://me:secret@host/news", "no user and password"),
    ],
)
def test_addresses(address, why):
    with pytest.raises(DataError, match=why) as caught:
        open_source([address], SourceSettings())
    assert "secret" not in str(caught.value)


def test_a_topic_is_no_sink():
    with pytest.raises(DataError, match="Kafka is a source only"):
        open_sink("kafka://host/news")


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("group.id=other", "group.id is not allowed"),
        ("auto.offset.reset=latest", "is not allowed"),
        ("sasl.password", "a line without ="),
        ("security.protocol=secret", "refuses the settings"),
        ("ssl.nonsense=secret", "refuses the settings"),
    ],
)
def test_settings_that_are_refused(tmp_path, monkeypatch, lines, why):
    path = tmp_path / "client.properties"
    path.write_text(f"# settings\n\n{lines}\n")
    monkeypatch.setenv(SETTINGS, str(path))
    with pytest.raises(DataError, match=why) as caught:
        open_source(["kafka://127.0.0.1:1/news"], SourceSettings()).begin(None, None)
    assert "secret" not in str(caught.value)


def test_settings_are_in_neither_name_nor_position(mock, topic, tmp_path, monkeypatch):
    path = tmp_path / "client.properties"
    path.write_text("client.id=secret\nsocket.timeout.ms=20000\n")
    monkeypatch.setenv(SETTINGS, str(path))
    fill(mock, topic, 8)
    assert run(tmp_path, source(mock, topic)).n_learned == 8
    for checkpoint in (tmp_path / "state").iterdir():
        assert b"secret" not in checkpoint.read_bytes()


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(DataError, match=r"pip install 'bayou\[kafka\]'"):
        open_source(["kafka://host/news"], SourceSettings())
