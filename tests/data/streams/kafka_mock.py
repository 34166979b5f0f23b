"""The mock cluster of the Kafka client, in a process of its own; it keeps nothing on disk.

A topic gets four partitions with its first message. Of each partition the mock keeps 5 MB.
"""

import contextlib
import json
import subprocess
import sys


class Mock:
    """A cluster that runs until it is closed."""

    def __init__(self):
        words = [sys.executable, "-m", "tests.data.streams.kafka_mock"]
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.brokers = self.process.stdout.readline().strip()

    def url(self, topic):
        return f"kafka://{self.brokers}/{topic}"

    def send(self, topic, messages):
        """Append messages: (partition, timestamp, value), the value as bytes or None."""
        for partition, timestamp, value in messages:
            text = None if value is None else value.decode("latin-1")
            self.process.stdin.write(json.dumps([topic, partition, timestamp, text]) + "\n")
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "sent\n"

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@contextlib.contextmanager
def mock_cluster():
    mock = Mock()
    try:
        yield mock
    finally:
        mock.close()


def main():
    import confluent_kafka

    producer = confluent_kafka.Producer(
        {
            "test.mock.num.brokers": 1,
            "bootstrap.servers": "mock",
            "log_level": 0,
            "linger.ms": 1,
            "message.max.bytes": 4_000_000,
        }
    )
    broker = next(iter(producer.list_topics(timeout=10).brokers.values()))
    print(f"{broker.host}:{broker.port}", flush=True)
    for line in sys.stdin:
        if line == "\n":
            assert producer.flush(30) == 0
            print("sent", flush=True)
            continue
        topic, partition, timestamp, text = json.loads(line)
        value = None if text is None else text.encode("latin-1")
        producer.produce(topic, value=value, partition=partition, timestamp=timestamp)
        producer.poll(0)


if __name__ == "__main__":
    main()
