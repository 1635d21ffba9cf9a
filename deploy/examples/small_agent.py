#!/usr/bin/env python3
"""A small agent for devices on which Swift does not run, such as those with 32-bit ARM.

    python3 small_agent.py --broker localhost --device garden --outbox garden.outbox

Reads a sensor ten times per second, writes the samples to an outbox on disk in batches, and deletes a batch only after the
collector has acknowledged it. Replace read_sensor by your own sensor. Needs the Debian package python3-paho-mqtt.
docs/wire-format.md specifies the messages.
"""
import argparse
import fcntl
import json
import math
import queue
import re
import secrets
import signal
import sqlite3
import time

import paho.mqtt.client as mqtt

STREAM = "motion/accelerometer"
SAMPLES = 10  # of a batch
MAX_IN_FLIGHT = 50  # batches


def read_sensor():
    """Returns one sample: a value for each column of the stream."""
    angle = math.radians(10) * math.sin(time.monotonic())
    return {"x": round(math.sin(angle), 4), "y": 0.0, "z": round(-math.cos(angle), 4)}


def now():
    return time.time_ns() // 1000


def batch(stream, times, columns):
    """Returns the samples of a stream, with their times in µs since 1970, in the form in which the outbox keeps them."""
    return {"stream": stream, "t": times[0], "dt": [later - earlier for earlier, later in zip(times, times[1:])]} | columns


class Outbox:
    """Batches that are not acknowledged yet, in the order of their numbers. They are accepted when `add` returns."""

    def __init__(self, path):
        self.lock = open(path + ".lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another agent uses the outbox {path}: give each agent an outbox of its own")
        self.database = sqlite3.connect(path, isolation_level=None)
        # Each transaction is on disk when it ends.
        self.database.executescript(
            """PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
            CREATE TABLE IF NOT EXISTS batches (seq INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL);
            CREATE TABLE IF NOT EXISTS state (epoch TEXT NOT NULL, last_t INTEGER NOT NULL);"""
        )
        if not self.database.execute("SELECT 1 FROM state").fetchone():
            self.database.execute("INSERT INTO state VALUES (?, 0)", (secrets.token_hex(8),))
        self.epoch, self.last_t = self.database.execute("SELECT epoch, last_t FROM state").fetchone()

    def count(self):
        return self.database.execute("SELECT count(*) FROM batches").fetchone()[0]

    def last(self):
        """Returns the number of the newest batch of the epoch, also if it is acknowledged and deleted."""
        row = self.database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'batches'").fetchone()
        return row[0] if row else 0

    def add(self, bodies):
        """Keeps the batches of a window, either all or none, and returns their numbers."""
        self.last_t = max([self.last_t, *(body["t"] + sum(body["dt"]) for body in bodies)])
        insert = "INSERT INTO batches (body) VALUES (?)"
        self.database.execute("BEGIN IMMEDIATE")
        numbers = [self.database.execute(insert, (json.dumps(body),)).lastrowid for body in bodies]
        self.database.execute("UPDATE state SET last_t = ?", (self.last_t,))
        self.database.execute("COMMIT")
        return numbers

    def oldest(self, count):
        return self.database.execute("SELECT seq, body FROM batches ORDER BY seq LIMIT ?", (count,)).fetchall()

    def acknowledge(self, ack):
        """Deletes the batches that an acknowledgement covers. Returns whether there were any."""
        if ack.get("epoch") != self.epoch or "refused" in ack:
            if "refused" in ack:
                print("the collector refuses a batch:", ack["refused"].get("reason"), flush=True)
            return False
        highest = ack.get("highest", ack["through"])
        if highest > self.last():
            self.start_epoch()  # the outbox was restored from an older copy
            return False
        gaps = [0, *(edge for pair in ack.get("missing", []) for edge in (pair[0] - 1, pair[1])), highest]
        stored = list(zip(gaps[0::2], gaps[1::2]))  # ranges: after the first number, up to the second one
        self.database.execute("BEGIN IMMEDIATE")
        removed = [self.database.execute("DELETE FROM batches WHERE seq > ? AND seq <= ?", pair).rowcount for pair in stored]
        self.database.execute("COMMIT")
        return sum(removed) > 0

    def start_epoch(self):
        """Numbers the batches from 1 again, in a new epoch."""
        bodies = self.database.execute("SELECT body FROM batches ORDER BY seq").fetchall()
        self.epoch = secrets.token_hex(8)
        self.database.execute("BEGIN IMMEDIATE")
        self.database.execute("DELETE FROM batches")
        self.database.execute("DELETE FROM sqlite_sequence")
        self.database.executemany("INSERT INTO batches (body) VALUES (?)", bodies)
        self.database.execute("UPDATE state SET epoch = ?", (self.epoch,))
        self.database.execute("COMMIT")


def part_of_id(name):
    """Returns a name as a part of a client id, with characters that every broker accepts."""
    name = re.sub("[-_]", lambda match: "_" + match[0], name)
    return name.replace(".", "_2E")


class Agent:
    max_batches = 100_000  # in the outbox: about 30 MB

    def __init__(self, options):
        self.topic = f"lockstep/{options.group}/{options.device}/"
        self.outbox = Outbox(options.outbox)
        self.events = queue.Queue()  # from the thread of paho-mqtt
        self.options = options
        self.session = 0
        self.is_stopping = False
        self.is_connected = False
        self.sent = {}  # when batches were sent, by number
        self.patience = 5.0  # seconds until a batch is sent again
        self.sources = {}  # the status of each source
        name = "-".join(["lockstep-agent", part_of_id(options.group), part_of_id(options.device)])
        versions = getattr(mqtt, "CallbackAPIVersion", None)  # since paho-mqtt 2.0
        self.client = mqtt.Client(*([versions.VERSION2] if versions else []), client_id=name, clean_session=True)
        self.client.on_pre_connect = lambda *_: self.set_will()
        self.client.on_connect = lambda client, data, flags, reason, *_: self.events.put(("connected", reason == 0))
        self.client.on_disconnect = lambda *_: self.events.put(("connected", False))
        self.client.on_message = lambda client, data, message: self.events.put(("ack", message.payload))
        self.client.reconnect_delay_set(1, 30)
        self.client.connect_async(options.broker, options.port, keepalive=15)
        self.client.loop_start()

    def presence(self, phase, **more):
        head = {"epoch": self.outbox.epoch, "session": self.session, "phase": phase, "at": now()}
        return json.dumps({**head, "sources": self.sources, **more})

    def set_will(self):
        # Each connection has a session of its own, so that a late last will of an earlier one is recognised.
        self.session = now()
        self.client.will_set(self.topic + "presence", self.presence("lost", reason="connection-lost"), 1, True)

    def report(self, phase="foreground", **more):
        return self.client.publish(self.topic + "presence", self.presence(phase, **more), 1, True)

    def handle_events(self):
        while not self.events.empty():
            kind, value = self.events.get()
            if kind == "connected":
                self.is_connected = value
                self.sent.clear()
                if value:
                    print("connected", flush=True)
                    self.client.subscribe(self.topic + "ack", 0)
                    self.report(reason="reconnect")
            elif value and self.outbox.acknowledge(json.loads(value)):
                self.patience = 5.0

    def send(self, new=()):
        """Sends the oldest batches that are not in flight. A batch that waited or is sent again is not live."""
        if not self.is_connected:
            return
        batches = self.outbox.oldest(MAX_IN_FLIGHT)
        time_now = time.monotonic()
        self.sent = {number: sent for number, sent in self.sent.items() if number in dict(batches)}
        if any(time_now - sent > self.patience for sent in self.sent.values()):
            self.sent.clear()
            self.patience = min(self.patience * 2, 300)
        for number, body in batches:
            if number not in self.sent:
                head = {"v": 1, "epoch": self.outbox.epoch, "seq": number, "live": number in new}
                body = json.loads(body)
                self.client.publish(self.topic + body.pop("stream", STREAM), json.dumps(head | body), 1)
                self.sent[number] = time_now

    def read_batches(self):
        """Reads the samples of a window, as a batch for each stream. Times always increase, also after the clock was set back."""
        times, values, due = [], [], time.monotonic()
        while len(times) < SAMPLES:
            values.append(read_sensor())
            times.append(max(now(), (times[-1] if times else self.outbox.last_t) + 1))
            due += self.options.interval
            time.sleep(max(0, due - time.monotonic()))
        columns = {column: [value[column] for value in values] for column in values[0]}
        return [batch(STREAM, times, columns)]

    def run(self):
        reported = 0.0
        while not self.is_stopping:
            bodies = self.read_batches()
            is_full = self.outbox.count() + len(bodies) > self.max_batches
            # Samples that do not fit are not accepted: those in the outbox are never deleted for them.
            numbers = self.outbox.add(bodies) if bodies and not is_full else []
            self.handle_events()
            self.send(numbers)
            if self.is_connected and time.monotonic() - reported > 30:
                reported = time.monotonic()
                self.report(**({"problem": "the outbox is full"} if is_full else {}))

        self.finish()

    def finish(self):
        """Waits up to five seconds for the last acknowledgements."""
        deadline = time.monotonic() + 5
        while self.outbox.count() and time.monotonic() < deadline:
            self.handle_events()
            self.send()
            time.sleep(0.05)
        if self.is_connected:
            self.report("terminated").wait_for_publish(1)
        print(f"stopped, {self.outbox.count()} batches in the outbox", flush=True)


def main():
    parser = argparse.ArgumentParser(description="A small agent for Lockstep.")
    parser.add_argument("--broker", default="localhost")
    parser.add_argument("--port", type=int, default=1883)
    parser.add_argument("--group", default="default")
    parser.add_argument("--device", required=True)
    parser.add_argument("--outbox", required=True)
    parser.add_argument("--interval", type=float, default=0.1, help="seconds from one sample to the next")
    agent = Agent(parser.parse_args())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: setattr(agent, "is_stopping", True))
    agent.run()


if __name__ == "__main__":
    main()
