#!/usr/bin/env python3
"""Connects Lockstep with the Lab Streaming Layer (LSL): streams become outlets, and an outlet is recorded as a device.

    python3 lsl_bridge.py out --group lab                                  # the streams of all devices, as outlets
    python3 lsl_bridge.py declare --name EEG                               # prints settings for the collector
    python3 lsl_bridge.py in --name EEG --group lab --device eeg --outbox eeg.outbox
    python3 lsl_bridge.py mark --name Stimuli --group lab --session walk-3 # samples become markers of a session

Needs pylsl, paho-mqtt and cbor2: pip install pylsl paho-mqtt cbor2. docs/sessions.md explains times and limits.
"""
import argparse
import collections
import ctypes
import dataclasses
import itertools
import json
import math
import re
import secrets
import signal
import sqlite3
import sys
import time

import paho.mqtt.client as mqtt
import pylsl

import mark_session
import read_cbor
import small_agent

WINDOW = 0.5  # seconds from one batch to the next
SILENCE = 10  # seconds without samples after which an outlet may be lost
MAX_VALUES = 10_000  # of a batch
MAX_COLUMNS = 32  # of a declared stream
MAX_ERROR = 86_400  # seconds from now to the time of a sample
RESERVED = "v epoch seq live t dt device_id group_name device time group samples stream".split()


def unix_offset():
    """Returns the Unix time minus LSL's local clock in seconds, from the two readings that are closest together."""
    readings = []
    for _ in range(5):
        before, wall, after = pylsl.local_clock(), time.time(), pylsl.local_clock()
        readings.append((after - before, wall - (before + after) / 2))
    return min(readings)[1]


def plain(text):
    """Returns a text as a name of the characters a-z, 0-9 and _."""
    name = re.sub("[^a-z0-9_]", "_", text.lower())[:24]
    return name if re.match("[a-z]", name) else "c" + name


def is_reserved(name):
    """Returns whether Lockstep or SQL uses a name itself, so that a column cannot have it."""
    try:
        sqlite3.connect(":memory:").execute(f"CREATE TABLE words ({name} REAL)")
    except sqlite3.OperationalError:
        return True
    return name in RESERVED


class Source:
    """An LSL outlet. It is found again after it was lost."""

    def __init__(self, options):
        self.query = ("source_id", options.source_id) if options.source_id else ("name", options.name)
        self.inlet = None
        self.newest = None  # when samples have arrived, in s of LSL's local clock
        self.has_dropped = False  # samples without a usable time

    def open(self):
        """Returns whether the outlet is there. From then on, its samples are kept until they are pulled."""
        found = pylsl.resolve_byprop(*self.query, minimum=1, timeout=1)
        if not found:
            if self.newest is None:
                print(f"no outlet has the {' '.join(self.query)} yet", file=sys.stderr)
                self.newest = 0.0
            return False
        # Without liblsl's own recovery, which keeps the offset of the clock, also if the outlet's machine has restarted.
        inlet = pylsl.StreamInlet(found[0], recover=False, processing_flags=pylsl.proc_clocksync)
        inlet.open_stream(5)
        self.info, _ = inlet.info(5), inlet.time_correction(5)
        hosts = [info.hostname() for info in pylsl.resolve_byprop(*self.query, minimum=2, timeout=1)]
        if len(hosts) > 1:
            raise SystemExit(f"several outlets have the {' '.join(self.query)}, on {', '.join(hosts)}: use --source-id")
        self.inlet, self.newest = inlet, pylsl.local_clock()
        print(f"found {self.info.name()} on {self.info.hostname()}, {self.status()}", file=sys.stderr)
        return True

    def pull(self):
        """Waits for a window, and returns the samples that have arrived, and their times in µs since 1970."""
        time.sleep(WINDOW)
        try:
            if not self.inlet and not self.open():
                return [], []
            # Not more than there are: if the loss of the outlet were noticed while waiting, these would be lost, too.
            count = max(1, self.inlet.samples_available())
            samples, times = self.inlet.pull_chunk(timeout=0.0, max_samples=count)
            is_silent = not times and pylsl.local_clock() > self.newest + SILENCE
            if is_silent and not pylsl.resolve_byprop("uid", self.info.uid(), minimum=1, timeout=1):
                raise pylsl.util.LostError
        except (pylsl.util.LostError, pylsl.util.TimeoutError):
            print("the outlet is lost", file=sys.stderr)
            self.inlet = None
            return [], []
        self.newest = pylsl.local_clock() if times else self.newest
        offset, now = unix_offset(), time.time()
        # A time that is not a number is not less than anything.
        good = [(sample, t + offset) for sample, t in zip(samples, times) if abs(t + offset - now) < MAX_ERROR]
        if len(good) < len(times) and not self.has_dropped:
            self.has_dropped = True
            print("samples whose time is not within a day from now are left out", file=sys.stderr)
        return [sample for sample, _ in good], [round(t * 1_000_000) for _, t in good]

    def status(self):
        """Returns a text with the largest error of the times: half the round trip of LSL's exchange of times."""
        if not self.inlet:
            return "the outlet is not found"
        if pylsl.local_clock() > self.newest + SILENCE:
            return f"the outlet has not sent samples for {SILENCE} s"
        remote, uncertainty, code = ctypes.c_double(), ctypes.c_double(), ctypes.c_int()
        arguments = (ctypes.byref(remote), ctypes.byref(uncertainty), ctypes.c_double(1), ctypes.byref(code))
        pylsl.lib.lib.lsl_time_correction_ex(self.inlet.obj, *arguments)
        return f"times within {uncertainty.value * 500_000:.0f} µs" if code.value == 0 else "the outlet does not answer"

    def streams(self, name):
        """Returns the columns of each stream, with unit and label. More than 32 channels need several streams."""
        if self.info.channel_format() == pylsl.cf_string:
            raise SystemExit(f"{self.info.name()} consists of texts: use the command mark")
        count, columns = self.info.channel_count(), {}
        texts = (self.info.get_channel_labels(), self.info.get_channel_units())
        labels, units = ([text or "" for text in [*(part or []), *[""] * count][:count]] for part in texts)
        for index, (label, unit) in enumerate(zip(labels, units), 1):
            base = plain(label or f"channel{index}")
            base += "_" if is_reserved(base) else ""
            names = itertools.chain([base], (f"{base}_{number}" for number in itertools.count(2)))
            column = next(name for name in names if name not in columns)
            columns[column] = (unit[:32], label[:200])
        name = name or "x/lsl/" + plain(self.info.name())
        parts = [list(columns.items())[at : at + MAX_COLUMNS] for at in range(0, count, MAX_COLUMNS)]
        return {name + (f"_{index}" if index > 1 else ""): dict(part) for index, part in enumerate(parts, 1)}


class Recorder(small_agent.Agent):
    """Records an outlet as a device."""

    max_batches = 10_000  # in the outbox: up to about 2 GB

    def __init__(self, options):
        self.source, self.stream, self.streams = Source(options), options.stream, None
        super().__init__(options)

    def read_batches(self):
        samples, times = self.source.pull()
        self.sources = {"lsl": self.source.status()}
        if not times:
            return []
        streams = self.source.streams(self.stream)
        if streams != (self.streams or streams):
            raise SystemExit("the outlet has other channels than before: start again, with another --stream")
        self.streams = streams
        # Times always increase, also where an outlet repeats one.
        times = list(itertools.accumulate(times, lambda last, t: max(t, last + 1), initial=self.outbox.last_t))[1:]
        # JSON has no form of a number that is not finite.
        rows = [[float(value) if math.isfinite(value) else None for value in sample] for sample in samples]
        bodies, size = [], max(1, MAX_VALUES // min(len(rows[0]), MAX_COLUMNS))
        for part in (slice(at, at + size) for at in range(0, len(rows), size)):
            channels = zip(*rows[part])
            for name, columns in streams.items():
                bodies.append(small_agent.batch(name, times[part], dict(zip(columns, channels))))
        return bodies


def record(options):
    recorder = Recorder(options)
    for code in (signal.SIGTERM, signal.SIGINT):
        signal.signal(code, lambda *_: setattr(recorder, "is_stopping", True))
    recorder.run()


def declare(options):
    """Prints the declaration of the streams of an outlet, for the settings of the collector."""
    source = Source(options)
    if not any(source.open() for _ in range(5)):
        raise SystemExit(1)
    print("streams:")
    for stream, columns in source.streams(options.stream).items():
        print(f"  {stream}:\n    columns:")
        for column, texts in columns.items():
            unit, label = (json.dumps(text, ensure_ascii=False) for text in texts)
            print(f"      {column}: {{ unit: {unit}, summary: {label}, required: false }}")


def mark(options):
    """Makes each sample of an outlet a marker of a session. A marker is sent again until the broker has it."""
    source = Source(options)
    while True:
        for sample, t in zip(*source.pull()):
            text = " ".join(map(str, sample))[:250] or "-"
            marker = {"id": secrets.token_hex(8), "t": t, "broker": options.broker, "port": options.port}
            while True:
                try:
                    mark_session.mark(text, options.session, options.group, **marker)
                    break
                except OSError as error:
                    print(f"the broker does not answer: {error}", file=sys.stderr)
                    time.sleep(1)


@dataclasses.dataclass
class Outlet:
    """The LSL outlet of a stream."""

    lsl: pylsl.StreamOutlet
    names: tuple  # of its columns
    kinds: tuple  # of its values
    missing: float | str  # in place of a value that is missing
    newest: int = 0  # the device's time of the newest sample
    # The epochs and numbers of the newest batches.
    recent: collections.deque = dataclasses.field(default_factory=lambda: collections.deque(maxlen=1000))


class Outlets:
    """Publishes the live samples of devices, with an outlet for each stream."""

    def __init__(self, options):
        self.outlets = {}  # of each stream
        self.asked, self.described, self.clocks, self.collector = {}, {}, {}, None
        kind = getattr(mqtt, "CallbackAPIVersion", None)  # since paho-mqtt 2.0
        self.client = mqtt.Client(*([kind.VERSION2] if kind else []))
        self.client.on_connect = lambda client, *_: client.subscribe(f"lockstep/{options.group}/{options.device}/#", 1)
        self.client.on_message = lambda client, data, message: self.receive(message)
        self.client.connect_async(options.broker, options.port)
        self.client.loop_forever(retry_first_connection=True)

    def receive(self, message):
        try:
            self.handle(message)
        except Exception as error:  # Any client may publish anything, which must not end the outlets of other devices.
            print(f"{message.topic} is not understood: {error!r}", file=sys.stderr)

    def handle(self, message):
        parts = message.topic.split("/", 3)
        # Also the topics of sessions and collectors match the subscription, and that of a device itself.
        if len(parts) < 4 or parts[2].startswith("$") or not message.payload:
            return
        device, channel, body = "/".join(parts[:3]), parts[3], read_cbor.read_any(message.payload)
        if not isinstance(body, dict):
            return
        if channel == "presence":
            for point in body.get("clock", {}).get("points", []):
                self.collector = self.collector or point["collector"]
                if point["collector"] == self.collector:
                    self.clocks[device] = point
        elif channel == "command/reply" and "describe" in body:
            for stream in body["describe"]["streams"]:
                self.described[f"{device}/{stream['stream']}"] = stream
        elif "t" in body and body.get("live", True) and not message.retain:
            self.push(device, message.topic, body)

    def open(self, device, topic, columns):
        """Makes the outlet of a stream when its agent has described it, or does not answer for three seconds."""
        if topic not in self.asked:
            self.asked[topic] = time.monotonic()
            request = {"id": secrets.token_hex(8), "describe": True}
            self.client.publish(f"{device}/command", json.dumps(request), 1)
        stream = self.described.get(topic)
        if not stream and time.monotonic() < self.asked[topic] + 3:
            return
        stream = stream or {"columns": list(columns), "units": [""] * len(columns), "hz": "source"}
        words = [name for name, values in columns.items() if any(isinstance(value, str) for value in values)]
        pairs = [pair for pair in zip(stream["columns"], stream["units"]) if pair[0] not in words]
        form = pylsl.cf_double64 if pairs else pylsl.cf_string
        names, units = zip(*(pairs or [(name, "") for name in words]))
        rate = stream["hz"] if isinstance(stream["hz"], (int, float)) else pylsl.IRREGULAR_RATE
        name = topic.split("/", 2)[2].replace("/", " ", 1)
        info = pylsl.StreamInfo(name, "lockstep", len(names), rate, form, topic)
        info.set_channel_labels(names)
        info.set_channel_units(units)
        values = ((int, float), math.nan) if pairs else ((str,), "")
        self.outlets[topic] = Outlet(pylsl.StreamOutlet(info), names, *values)
        print(f"outlet '{name}'", file=sys.stderr)

    def push(self, device, topic, batch):
        columns = {name: values for name, values in batch.items() if isinstance(values, list) and name != "dt"}
        if not columns:
            return
        if topic not in self.outlets:
            self.open(device, topic, columns)
        if topic not in self.outlets:
            return
        outlet, key = self.outlets[topic], (batch.get("epoch"), batch.get("seq"))
        if key in outlet.recent:
            return  # The broker has delivered the batch twice.
        count, dt = len(next(iter(columns.values()))), batch.get("dt", [])
        times = itertools.accumulate([batch["t"], *(dt if isinstance(dt, list) else [dt] * (count - 1))])
        rows = zip(*(columns.get(name, [None] * count) for name in outlet.names))
        # Without a number, only later samples are new. With it, the device's clock may have been set back.
        new = [(row, t) for row, t in zip(rows, times) if "seq" in batch or t > outlet.newest]
        if new:
            kinds, missing = outlet.kinds, outlet.missing
            samples = [[value if isinstance(value, kinds) else missing for value in row] for row, _ in new]
            outlet.lsl.push_chunk(samples, [self.lsl_time(device, t) for _, t in new])
            outlet.newest = new[-1][1]
        if "seq" in batch:
            outlet.recent.append(key)

    def lsl_time(self, device, t):
        """Returns a device's time on the clock of the collector, if it is known, as a time of LSL's local clock."""
        if point := self.clocks.get(device):
            t -= point["offset"] + point["skew"] * (t - point["t"]) / 1e9
        return t / 1_000_000 - unix_offset()


def main():
    parser = argparse.ArgumentParser(description="Connects Lockstep with the Lab Streaming Layer.")
    commands = parser.add_subparsers(required=True)
    for name, run in {"out": Outlets, "declare": declare, "in": record, "mark": mark}.items():
        command = commands.add_parser(name, help=run.__doc__)
        command.set_defaults(run=run)
        if name != "out":
            which = command.add_mutually_exclusive_group(required=True)
            which.add_argument("--name", help="the name of the outlet")
            which.add_argument("--source-id", help="its source id, if several have the name")
        if name in ("declare", "in"):
            command.add_argument("--stream", help="x/lsl/NAME by default")
        if name != "declare":
            command.add_argument("--broker", default="localhost")
            command.add_argument("--port", type=int, default=1883)
            command.add_argument("--group", default="default")
        if name == "out":
            command.add_argument("--device", default="+", help="all devices of the group by default")
        if name == "in":
            command.add_argument("--device", required=True)
            command.add_argument("--outbox", required=True)
        if name == "mark":
            command.add_argument("--session", required=True)
    options = parser.parse_args()
    try:
        options.run(options)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
