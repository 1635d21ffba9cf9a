"""Measures what retention costs while samples arrive. Needs only Python's standard library and mosquitto.

Two collectors store the same stream of samples, alternately, each in a copy of the same store of old samples: one keeps them, and
from the other they leave. Only the time in which samples leave is compared. A probe sends a sample every 20 ms, and its age is
taken when a reader of the store first sees it.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from ports import wait_until
from years import Years

DEVICES = 100


class Round(Years):
    """A run of one side."""

    def __init__(self, programs, folder, rows):
        super().__init__(programs, folder, rows)
        self.filled = f"{self.store}.filled"

    def fill_once(self):
        self.fill()
        os.rename(self.store, self.filled)
        self.bytes_of_row = os.path.getsize(self.filled) / self.rows

    def query(self, sql):
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as database:
            return database.execute(sql).fetchone()[0]

    def deleted(self):
        """The number of samples that have left. Only a store with rules has the table."""
        try:
            return self.query("SELECT ifnull(sum(samples), 0) FROM expired")
        except sqlite3.OperationalError:
            return 0

    def measure(self, options, seconds, rate, leaves):
        """Returns the figures of a time in which samples arrive, and also leave if they are to."""
        for suffix in ("", "-wal", "-shm", ".lock"):
            pathlib.Path(self.store + suffix).unlink(missing_ok=True)
        shutil.copyfile(self.filled, self.store)
        os.sync()
        collector = self.start_collector("--log-level", "error", *options)
        load = self.start(
            self.programs / "lockstep", "simulate", "--broker", self.broker, "--devices", DEVICES, "--connections", 10,
            "--sample-rate", rate / DEVICES, "--seconds", seconds + 3600, "--group", "load")  # fmt: skip
        probe = subprocess.Popen(
            ["mosquitto_pub", "-p", str(self.port), "-q", "1", "-t", "lockstep/years/probe/motion/accelerometer", "-l"],
            stdin=subprocess.PIPE, text=True)  # fmt: skip
        try:
            return self.watch(collector, probe, seconds, leaves)
        finally:
            probe.stdin.close()
            probe.wait(60)
            load.kill()
            load.wait()
            self.running.remove(load)
            self.stop(collector)

    def watch(self, collector, probe, seconds, leaves):
        waiting, ages, looks = [], [], []
        number = 0
        log = 0
        written = pathlib.Path(f"/proc/{collector.pid}/io")
        wait_until("the load", lambda: self.query("SELECT count(*) FROM _devices WHERE group_name = 'load'") == DEVICES)
        before = self.deleted()
        newest = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, isolation_level=None)
        sql = "SELECT last_t FROM _waiting WHERE device_id = (SELECT device_id FROM _devices WHERE device = 'probe') ORDER BY n DESC LIMIT 1"
        begin = time.time()
        sent = looked = 0.0
        while True:
            now = time.time()
            if now - sent >= 0.02:
                number += 1
                sent = now
                waiting.append(now)
                batch = {"v": 1, "epoch": str(int(begin)), "seq": number, "t": int(now * 1e6), "dt": 1, "x": [0], "y": [0], "z": [1]}
                probe.stdin.write(json.dumps(batch) + "\n")
                probe.stdin.flush()
            if now - looked >= 0.25:
                looked = now
                bytes_written = [int(written.read_text().split(name)[1].split()[0]) for name in ("\nwrite_bytes: ", "\nwchar: ")]
                looks.append((now, self.deleted(), *bytes_written, self.query("SELECT sum(samples) FROM devices")))
                log = max(log, os.path.getsize(self.store + "-wal"))
                # Nothing more leaves.
                over = leaves and len(looks) > 20 and looks[-1][1] > before and looks[-1][1] == looks[-9][1]
                if over or now - begin > seconds:
                    break
            row = newest.execute(sql).fetchone()
            seen = time.time()
            while waiting and row and row[0] is not None and int(waiting[0] * 1e6) <= row[0]:
                ages.append((seen, seen - waiting.pop(0)))
            time.sleep(0.001)
        newest.close()
        if leaves:
            changed = [index for index in range(1, len(looks)) if looks[index][1] > looks[index - 1][1]]
            if not changed:
                raise SystemExit("nothing has left: see the log of the collector")
            looks = looks[changed[0] - 1 : changed[-1] + 1]
        first, last = looks[0], looks[-1]
        length = last[0] - first[0]
        ages = [age for seen, age in ages if first[0] <= seen <= last[0]]
        if len(ages) < 100:
            raise SystemExit(f"only {len(ages)} samples of the probe were stored: use more --rows")
        parts = statistics.quantiles(ages, n=100)
        return {
            "seconds": length, "median_ms": parts[49] * 1e3, "p99_ms": parts[98] * 1e3, "log_mb": log / 1e6,
            "samples_per_s": (last[4] - first[4]) / length, "deleted_per_s": (last[1] - first[1]) / length,
            "written_mb_per_s": (last[2] - first[2]) / length / 1e6, "write_calls_mb_per_s": (last[3] - first[3]) / length / 1e6,
        }  # fmt: skip


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", required=True, help="folder with the programs")
    options.add_argument("--rows", type=int, default=20_000_000, help="old samples of which most leave (default: 20000000)")
    options.add_argument("--rate", type=int, default=100_000, help="samples a second that arrive (default: 100000)")
    options.add_argument("--seconds", type=int, default=30, help="greatest length of a run (default: 30)")
    options.add_argument("--rounds", type=int, default=3, help="runs of each side (default: 3)")
    options.add_argument("--folder", help="folder for the stores, with 100 bytes of room for each row (default: a temporary one)")
    options.add_argument("--json", action="store_true")
    arguments = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sides = {"with retention": ("--keep", "*=1h", "--confirm-retention"), "without": ()}
    figures = {side: [] for side in sides}
    with tempfile.TemporaryDirectory(dir=arguments.folder, ignore_cleanup_errors=True) as folder:
        store = Round(pathlib.Path(arguments.programs).resolve(), folder, arguments.rows)
        try:
            store.fill_once()
            for number in range(arguments.rounds):
                for side, rules in sides.items():
                    print(f"retention: round {number + 1}, {side}", file=sys.stderr)
                    figures[side].append(store.measure(rules, arguments.seconds, arguments.rate, bool(rules)))
        finally:
            store.stop_all()
    median = {side: {name: statistics.median(run[name] for run in runs) for name in runs[0]} for side, runs in figures.items()}
    having, without = median.values()
    ratio = having["p99_ms"] / without["p99_ms"]
    deleted = having["deleted_per_s"] * store.bytes_of_row / 1e6
    cost, calls = ((having[name] - without[name]) / deleted for name in ("written_mb_per_s", "write_calls_mb_per_s"))
    if arguments.json:
        print(json.dumps({"benchmark": "retention", "rounds": figures, "p99_ratio": ratio, "written_per_deleted": cost, "in_write_calls": calls}))
        return
    print("| Median of the runs | " + " | ".join(sides) + " |\n|---|---|---|")
    for name in having:
        print(f"| {name} | " + " | ".join(f"{value[name]:,.1f}" for value in median.values()) + " |")
    print(f"\np99 with retention: {ratio:.2f} of that without; bytes written for each deleted one: {cost:.2f}, in write calls: {calls:.2f}")


if __name__ == "__main__":
    main()
