"""The settings of a Kafka client: address, security settings from a file, and the errors to wait for."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from bayou.data.errors import DataError, reason_of

SETTINGS = "BAYOU_KAFKA_CONFIG"  # names a file of client settings
_ALLOWED = ("security.", "sasl.", "ssl.", "socket.", "client.", "reconnect.", "broker.address.")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_BUFFER_KB = 16_384  # per partition, in the client


class KafkaAddress(NamedTuple):
    """Brokers and topic of ``kafka://HOST:9092/TOPIC``."""

    brokers: str
    topic: str


def parse_address(address: str) -> KafkaAddress:
    """Brokers and topic of an address; several brokers are separated by commas.

    Examples
    --------
    >>> parse_address("kafka://one:9092,two:9092/news")
    KafkaAddress(brokers='one:9092,two:9092', topic='news')
    """
    brokers, _, topic = address.partition("://")[2].partition("/")
    if "@" in address:
        raise DataError(
            f"an address of Kafka has no user and password; put them into a file of settings, and name the "
            f"file in {SETTINGS}"
        )
    if not brokers or not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise DataError(
            f"{address} does not name a topic; expected an address such as kafka://localhost:9092/news"
        )
    return KafkaAddress(brokers, topic)


def client_module() -> Any:
    """The module of the client, or an error with the line that installs it."""
    try:
        import confluent_kafka
    except ImportError:
        raise DataError("Kafka topics need confluent-kafka: pip install 'bayou[kafka]'") from None
    return confluent_kafka


def make_consumer(address: KafkaAddress, group: str, errors: Any) -> Any:
    """A consumer that assigns partitions itself and never uses offsets stored at the broker."""
    kafka = client_module()
    own = {
        "bootstrap.servers": address.brokers,
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",  # a deleted offset is reported, not skipped
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "queued.max.messages.kbytes": _BUFFER_KB,
        "log_level": 0,
        "error_cb": errors,
    }
    given = read_settings()
    try:
        return kafka.Consumer({**given, **own})
    except kafka.KafkaException as error:  # its text may contain a value, such as a password
        found = re.search(r'property:? "?([a-z.]+)', str(error))
        what = f" ({found[1]})" if found and found[1] in given else ""
        raise DataError(f"the Kafka client refuses the settings in {SETTINGS}{what}") from None


def read_settings() -> dict[str, str]:
    """Settings of the file that the environment names: ``name=value`` per line, # for comments."""
    path = os.environ.get(SETTINGS)
    if not path:
        return {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = reason_of(error) if isinstance(error, OSError) else "not valid UTF-8"
        raise DataError(f"{SETTINGS} names {path}, which cannot be read: {why}") from None
    found = {}
    for number, line in enumerate(lines, 1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals or not name.startswith(_ALLOWED):
            shown = name if equals else "a line without ="
            raise DataError(
                f"{path}, line {number}: {shown} is not allowed; settings begin with {', '.join(_ALLOWED)}"
            )
        found[name] = value
    return found
