"""Kafka topics as a source. Offsets are part of the position; those at the broker are never read.

Messages of several partitions are merged by their timestamps: the next message is the one with the smallest
(timestamp, partition) among the first unread messages of all partitions. A partition is left out only when
the broker has reported its end. The order of the messages that exist when a run starts is therefore a
function of the topic alone. Partitions are assigned by this process, so the group is never rebalanced.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from bayou.data.errors import DataError
from bayou.data.records import Options
from bayou.data.streams.items import SHOWN, U64, Item, Position, Source, field_of, parse_item
from bayou.data.streams.kafka_client import KafkaAddress, client_module, make_consumer
from bayou.data.streams.retries import RetryPolicy

_ANSWER = 10.0  # seconds for one answer of the broker
_LOOK = 10.0  # seconds between two looks for new partitions
_CALL = 200  # messages per call of the client
_QUIET = 15.0  # seconds without an answer after which the broker is reported as unavailable
_FULL_MESSAGES, _FULL_BYTES = 2_000, 2**23  # of a partition, after which it is paused


class Partition:
    """Messages of one partition that were received but not read yet."""

    def __init__(self, number: int, offset: int, end: int | None) -> None:
        self.number, self.offset, self.end = number, offset, end  # end: None if it may grow
        self.queue: deque[Any] = deque()
        self.n_bytes = 0
        self.at_end = end is not None and offset >= end
        self.is_paused = False

    def is_known(self) -> bool:
        """Whether the next message is here, or there is none."""
        return bool(self.queue) or self.at_end

    def add(self, message: Any) -> None:
        """Append a message; one behind the fixed end is dropped."""
        if self.end is not None and message.offset() >= self.end:
            self.at_end = True
            return
        self.at_end = False
        self.queue.append(message)
        self.n_bytes += len(message)

    def take(self) -> Any:
        """Remove the first message."""
        message = self.queue.popleft()
        self.n_bytes -= len(message)
        self.offset = message.offset() + 1
        return message

    def key(self) -> tuple[int, int]:
        """The order between partitions."""
        return self.queue[0].timestamp()[1], self.number

    def is_full(self) -> bool:
        """Whether no more messages should be received."""
        return len(self.queue) >= _FULL_MESSAGES or self.n_bytes >= _FULL_BYTES


class KafkaSource(Source):
    """Messages of a topic, each a JSON object."""

    unit = "messages"

    def __init__(self, address: KafkaAddress, group: str, follow: bool, options: Options) -> None:
        self.name = f"kafka://{address.brokers}/{address.topic}"
        self._address, self._group, self._follow = address, group, follow
        self._options = options
        self._kafka = client_module()
        self.patience = RetryPolicy()
        self._problem, self._partitions = "", dict[int, Partition]()

    def begin(self, position: Position | None, memory: U64) -> None:
        """Assign all partitions: from the offsets of a position, else from their first messages."""
        self._consumer = make_consumer(self._address, self._group, self._note)
        offsets = {} if position is None else field_of(position, "offsets", dict)
        self._looked = self._heard = time.monotonic()
        self._was_told = False
        self._add_partitions({int(number): int(at) for number, at in offsets.items()})

    def _note(self, error: Any) -> None:
        """Called by the client for errors of a connection."""
        self._problem = str(error.str())[:200]
        if error.code() in (self._kafka.KafkaError._AUTHENTICATION, self._kafka.KafkaError._SSL):
            raise DataError(f"{self.name}: {self._problem}; check the security settings")

    def _ask(self, call: Callable[[], Any]) -> Any:
        """The answer of a broker, waited for while it is unavailable."""
        errors = self._kafka.KafkaError
        away = (errors._TRANSPORT, errors._TIMED_OUT, errors._ALL_BROKERS_DOWN, errors._RESOLVE,
                errors.LEADER_NOT_AVAILABLE, errors.NOT_LEADER_FOR_PARTITION)  # fmt: skip

        def ask() -> Any:
            try:
                return call()
            except self._kafka.KafkaException as error:
                if not self._partitions:  # nothing is assigned, so this returns no message
                    self._consumer.poll(0.0)  # calls `_note`
                reason = self._problem or str(error.args[0].str())[:200]
                if error.args[0].code() in away:
                    raise ConnectionError(reason) from None
                raise DataError(f"{self.name}: {reason}; check the topic and the group") from None

        return self.patience.until(ask, (ConnectionError,), self.name)

    # -- partitions ----------------------------------------------------------------------------

    def _add_partitions(self, offsets: dict[int, int]) -> None:
        """Assign partitions that are not assigned yet."""
        topic = self._address.topic
        found = self._ask(lambda: self._consumer.list_topics(topic, _ANSWER)).topics[topic]
        if found.error is not None or not found.partitions:
            why = "it has no partitions" if found.error is None else str(found.error.str())
            raise DataError(f"{self.name}: {why}; check the name of the topic")
        if missing := sorted({*offsets, *self._partitions} - set(found.partitions)):
            raise DataError(
                f"{self.name}: partition {missing[0]} no longer exists, so the topic was deleted and created "
                "again; start with another --state"
            )
        fresh = sorted(set(found.partitions) - set(self._partitions))
        for number in fresh:
            self._assign(number, offsets.get(number))

    def _assign(self, number: int, offset: int | None) -> None:
        low, high = self._limits(number)
        if offset is not None and offset > high:
            raise DataError(
                f"{self.name}: partition {number} ends at offset {high}, but offsets up to {offset - 1} were "
                "read, so messages were removed from its end; start with another --state"
            )
        if offset is not None and offset < low:
            self._remark_loss(number, offset, low)
        at = low if offset is None else max(offset, low)
        self._partitions[number] = Partition(number, at, None if self._follow else high)
        place = self._kafka.TopicPartition(self._address.topic, number, at)
        self._consumer.incremental_assign([place])

    def _limits(self, number: int) -> tuple[int, int]:
        """The offset of the first message, and the one after the last."""
        place = self._kafka.TopicPartition(self._address.topic, number)
        low, high = self._ask(lambda: self._consumer.get_watermark_offsets(place, timeout=_ANSWER))
        return low, high

    def _remark_loss(self, number: int, offset: int, low: int) -> None:
        self.remarks(
            f"{self.name}: the broker deleted offsets {offset} to {low - 1} of partition {number} before "
            f"they were read; {low - offset:,} offsets are lost, and reading continues at {low}"
        )

    # -- reading -------------------------------------------------------------------------------

    def position(self) -> Position:
        """The next offset of each partition."""
        return {"offsets": {str(p.number): p.offset for p in self._partitions.values()}}

    def read(self, n: int, wait: float) -> list[Item]:
        """The next messages; if there are none, wait up to ``wait`` seconds."""
        until, items = time.monotonic() + wait, list[Item]()
        while len(items) < n:
            if not all(p.is_known() for p in self._partitions.values()):
                self._receive(0.0 if items else max(until - time.monotonic(), 0.0))
                if not all(p.is_known() for p in self._partitions.values()):
                    if items or time.monotonic() >= until:
                        break
                    continue
            waiting = [p for p in self._partitions.values() if p.queue]
            if not waiting:
                if not self._wait_for_more(bool(items), until):
                    break
                continue
            items.append(self._item(min(waiting, key=Partition.key).take()))
        self._look()
        return items

    def _wait_for_more(self, has_items: bool, until: float) -> bool:
        """At the end of all partitions: end, or wait for messages; return whether to look again."""
        if not self._follow:
            self.ended = not has_items
            return False
        left = until - time.monotonic()
        if has_items or left <= 0:
            return False
        self._receive(left)
        return True

    def _receive(self, wait: float) -> None:
        """Receive messages and ends of partitions into the queues."""
        self._pause_full()
        messages = self._consumer.consume(_CALL, min(wait, 0.25))
        for message in messages:
            error = message.error()
            if error is None:
                self._partitions[message.partition()].add(message)
            elif error.code() == self._kafka.KafkaError._PARTITION_EOF:
                partition = self._partitions[message.partition()]
                partition.at_end = True
            elif error.code() == self._kafka.KafkaError._AUTO_OFFSET_RESET:
                self._skip_gap(message.partition())
            elif not error.retriable() and error.code() != self._kafka.KafkaError._TRANSPORT:
                raise DataError(f"{self.name}: {error.str()}; check the topic and its limits")
        if messages:
            self._heard, self._was_told, self._problem = time.monotonic(), False, ""
        elif not all(p.is_known() for p in self._partitions.values()):
            self._check_silence()

    def _check_silence(self) -> None:
        """Report a broker that does not answer; give up after the time of the retry policy."""
        silent = time.monotonic() - self._heard
        reason = self._problem or "no answer"
        if silent > self.patience.seconds:
            raise DataError(f"{self.name}: {reason}; start again when it is available")
        if silent > _QUIET and not self._was_told:
            self._was_told = True
            self.patience.told(f"{self.name} is unavailable: {reason}; retrying")

    def _skip_gap(self, number: int) -> None:
        """Continue at the first message that the broker still has."""
        partition = self._partitions[number]
        low, high = self._limits(number)
        wanted = partition.queue[-1].offset() + 1 if partition.queue else partition.offset
        if wanted > high:
            raise DataError(
                f"{self.name}: partition {number} ends at offset {high}, but offset {wanted} is the next, "
                "so messages were removed from its end; start with another --state"
            )
        self._remark_loss(number, wanted, low)
        if not partition.queue:
            partition.offset = low
        if partition.end is not None and low >= partition.end:
            partition.at_end = True
        place = self._kafka.TopicPartition(self._address.topic, number, low)
        self._consumer.incremental_unassign([place])
        self._consumer.incremental_assign([place])

    def _pause_full(self) -> None:
        """Keep the queues short: a partition whose messages are later than others must wait."""
        for p in self._partitions.values():
            place = [self._kafka.TopicPartition(self._address.topic, p.number)]
            if p.is_full() and not p.is_paused:
                self._consumer.pause(place)
                p.is_paused = True
            elif p.is_paused and not p.queue:
                self._consumer.resume(place)
                p.is_paused = False

    def _look(self) -> None:
        """Find partitions that were added to the topic, from time to time."""
        if self._follow and time.monotonic() - self._looked >= _LOOK:
            self._looked = time.monotonic()
            self._add_partitions({})

    def _item(self, message: Any) -> Item:
        where = f"{self.name}, partition {message.partition()}, offset {message.offset()}"
        value, most = message.value(), self._options.max_line_bytes
        if value is None:
            return Item(where, None, "", "the message has no value")
        if len(value) > most:
            shown = value[:200].decode("utf-8", "replace")
            return Item(where, None, shown, f"longer than {most} bytes; raise --max-line-bytes")
        try:
            text = value.decode("utf-8", self._options.encoding_errors)
        except UnicodeDecodeError as error:
            return Item(where, None, repr(value[:SHOWN])[:SHOWN], f"not valid UTF-8 ({error})")
        return parse_item(where, text)

    def lag(self) -> int | None:
        """Number of offsets after the last message read."""
        return sum(
            max(self._limits(number)[1] - p.offset, 0) for number, p in self._partitions.items()
        )

    def acknowledge(self, position: Position) -> None:
        """Commit the offsets for tools that show the lag of a group; a resume does not use them."""
        topic = self._address.topic
        places = [
            self._kafka.TopicPartition(topic, int(number), at)
            for number, at in position["offsets"].items()
        ]
        try:
            self._consumer.commit(offsets=places, asynchronous=True)
        except self._kafka.KafkaException as error:
            raise DataError(f"{self.name}: {error.args[0].str()}") from None

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close()
