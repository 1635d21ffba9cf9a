"""Measures how times grow with the number of samples in an SQLite store. Needs only Python's standard library and mosquitto.

Each store has a year of 20 devices, and is filled directly: a collector creates it, and then one INSERT writes all rows. Half of
them are of one device, at 100 Hz until the end of the year; those of the others are spread over the year. Then everything that a
person does with a store of years is timed once, by the programs that a person uses.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from ports import free_port, listens, wait_until

DEVICES = 20
START = 1_735_689_600_000_000  # 2025-01-01T00:00:00Z
DAY = 86_400_000_000
YEAR = 365 * DAY
# The interval of the device with half of the samples.
DENSE = 10_000
# The samples of each of the devices that send theirs at once.
BACKLOG = 200_000


class Years:
    def __init__(self, programs, folder, rows, scale=10000.0):
        self.programs, self.folder, self.rows, self.scale = programs, pathlib.Path(folder), rows, scale
        self.store = str(self.folder / f"years-{rows}.db")
        self.port, self.http = free_port(), free_port()
        self.broker = f"mqtt://127.0.0.1:{self.port}"
        self.running = []

    def start(self, *command):
        log = open(self.folder / f"{pathlib.Path(command[0]).name}.log", "ab")
        self.running.append(subprocess.Popen([str(part) for part in command], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        return self.running[-1]

    def stop(self, program):
        program.send_signal(signal.SIGTERM)
        program.wait(60)
        self.running.remove(program)

    def stop_all(self):
        for program in reversed(self.running[:]):
            self.stop(program)

    def lockstep(self, *arguments, statuses=(0,)):
        run = subprocess.run([str(self.programs / "lockstep"), *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if run.returncode not in statuses:
            raise SystemExit(f"lockstep {' '.join(map(str, arguments))} has failed: {run.stdout}{run.stderr}")
        return run.stdout

    def start_collector(self, *options):
        return self.start(self.programs / "lockstep-collector", "--broker", self.broker, "--store", f"sqlite:{self.store}", *options)

    def collector(self):
        """Starts the collector, and waits until it has stored a message."""
        before = self.seen()
        program = self.start_collector()
        batch = json.dumps({"v": 1, "epoch": "years", "seq": 1, "t": START - 1, "dt": 1, "x": [0], "y": [0], "z": [1]})

        def is_stored():
            if program.poll() is not None:
                raise SystemExit("the collector has ended: see its log")
            return (self.seen() or 0) > (before or 0)

        # The broker queues it until the collector has subscribed; a retained message arrives with the subscription.
        self.publish("motion/accelerometer", batch)
        wait_until("the first message", is_stored)
        return program

    def publish(self, channel, payload):
        subprocess.run(["mosquitto_pub", "-p", str(self.port), "-q", "1", "-r", "-t", f"lockstep/years/d1/{channel}", "-m", payload], check=True)

    def seen(self):
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as database:
                row = database.execute("SELECT samples + duplicates FROM devices").fetchone()
                return row[0] if row else 0
        except sqlite3.OperationalError:
            return None

    def fill(self):
        (self.folder / "broker.conf").write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\n")
        self.start("mosquitto", "-c", "broker.conf")
        wait_until("the broker", lambda: listens(self.port))
        self.stop(self.collector())
        dense = self.rows // 2
        each = (self.rows - dense) // (DEVICES - 1)
        database = sqlite3.connect(self.store, isolation_level=None)
        database.executescript(f"""
            PRAGMA synchronous = OFF; PRAGMA journal_mode = DELETE; PRAGMA cache_size = -65536;
            BEGIN;
            DELETE FROM _accelerometer;
            INSERT INTO _devices (device_id, group_name, device, first_seen, last_seen, state)
                WITH RECURSIVE d(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM d WHERE i < {DEVICES})
                SELECT i, 'years', 'd' || i, {START}, {START + YEAR}, 'active' FROM d;
            UPDATE _devices SET samples = iif(device_id = {DEVICES}, {dense}, {each}), last_t = {START + YEAR - 1};
            INSERT INTO _batches SELECT device_id, 'filled', 1, {each // 100} FROM _devices;
            INSERT INTO _accelerometer (device_id, t, x, y, z)
                WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {each} - 1)
                SELECT device_id, {START} + i * {YEAR // each}, (i * 7919 % 20001 - 10000) / {self.scale},
                    (i * 104729 % 20001 - 10000) / {self.scale}, (i * 1299709 % 20001 - 10000) / {self.scale}
                FROM _devices CROSS JOIN n WHERE device_id < {DEVICES};
            INSERT INTO _accelerometer (device_id, t, x, y, z)
                WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {dense} - 1)
                SELECT {DEVICES}, {START + YEAR - dense * DENSE} + i * {DENSE}, (i * 7919 % 20001 - 10000) / {self.scale},
                    (i * 104729 % 20001 - 10000) / {self.scale}, (i * 1299709 % 20001 - 10000) / {self.scale}
                FROM n;
            COMMIT;
            PRAGMA journal_mode = WAL;
        """)
        database.close()

    def is_summarised(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as database:
            try:
                return database.execute(f"SELECT count(*) FROM _summarised WHERE upto > {START + YEAR} - 2 * {DAY // 24}").fetchone()[0] >= DEVICES
            except sqlite3.OperationalError:
                return False

    def is_removed(self, before):
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as database:
            return database.execute("SELECT min((SELECT min(t) FROM _accelerometer WHERE device_id = d.device_id)) FROM _devices AS d").fetchone()[0] >= before

    def measure(self):
        """Returns the seconds of each step."""
        times = {}

        def timed(name, body):
            begin = time.monotonic()
            result = body()
            times[name] = time.monotonic() - begin
            return result

        timed("fill", self.fill)
        collector = timed("restart", self.collector)
        store = ("--store", f"sqlite:{self.store}")
        timed("devices", lambda: self.lockstep("devices", *store))
        timed("verify", lambda: self.lockstep("verify", *store))
        self.start(self.programs / "lockstep-serve", "--broker", self.broker, *store, "--listen", f"127.0.0.1:{self.http}")
        wait_until("the server", lambda: listens(self.http))
        every = ("query", "accelerometer", *store, "--from", START + YEAR - DAY, "--to", START + YEAR, "--every", "1h", "--csv")
        timed("--every 1h, day, from samples", lambda: self.lockstep(*every))
        lengths = (("plot, hour", DAY // 24), ("plot, day", DAY), ("plot, week", 7 * DAY), ("plot, year", YEAR))
        for name, length in (("plot, year, from samples", YEAR), ("", 0), *lengths):
            if not name:
                # The first summaries are made a minute after the start.
                timed("summaries", lambda: wait_until("the summaries", self.is_summarised, 7200))
                timed("--every 1h, day", lambda: self.lockstep(*every))
                continue
            path = f"/api/v1/devices/years/d{DEVICES}/streams/motion/accelerometer?points=1000&from={START + YEAR - length}&to={START + YEAR}"

            def get():
                with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=3600) as answer:
                    answer.read()

            try:
                timed(name, get)
            except urllib.error.HTTPError as error:
                print(f"{name}: {error.read().decode()}", file=sys.stderr)
                times[name] = None
        with contextlib.closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)) as database:
            middle = START + YEAR // 2
            timed("SQL, avg of a day", lambda: database.execute(f"SELECT avg(x) FROM accelerometer WHERE device_id = 3 AND t >= {middle} AND t < {middle + DAY}").fetchone())
            timed("SQL, max(t)", lambda: database.execute("SELECT max(t) FROM accelerometer WHERE device_id = 3").fetchone())
        deletion = ("delete", *store, "--broker", self.broker, "--device", "years/d4", "--from", middle, "--to", middle + DAY, "--yes")
        timed("delete a day", lambda: self.lockstep(*deletion))
        times["bytes a row"] = os.path.getsize(self.store) / self.rows
        # As fast as 20 other devices can send, in batches of 100.
        simulation = ("simulate", "--broker", self.broker, "--devices", DEVICES, "--sample-rate", 100, "--seconds", 1)
        timed("ingest", lambda: self.lockstep(*simulation, "--backlog", BACKLOG // 100, "--backlog-rate", "1000M"))
        times["ingest, samples/s"] = DEVICES * BACKLOG / times.pop("ingest")
        self.stop(collector)
        half = START + YEAR // 2
        age = f"{int(time.time() - half / 1e6)}s"
        timed("retention of half", lambda: (self.start_collector("--keep", f"years/*/*={age}", "--confirm-retention"), wait_until("retention", lambda: self.is_removed(half - 15 * DAY), 7200)))
        times["backup"] = None
        if shutil.disk_usage(self.folder).free > 1.1 * os.path.getsize(self.store):
            timed("backup", lambda: self.lockstep("backup", *store, self.folder / "backup.db"))
        timed("verify --file", lambda: self.lockstep("verify", *store, "--file"))
        return times


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", required=True, help="folder with the programs")
    options.add_argument("--sizes", dest="rows", default="1000000,10000000", help="numbers of rows, separated by commas")
    options.add_argument("--folder", help="folder for the stores, with 100 bytes of room for each row (default: a temporary one)")
    options.add_argument("--whole-numbers", action="store_true", help="values without fractions, with which a sample takes 27 bytes instead of 49")
    options.add_argument("--json", action="store_true")
    arguments = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    columns = {}
    for rows in map(int, arguments.rows.split(",")):
        print(f"years: {rows} rows", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=arguments.folder, ignore_cleanup_errors=True) as folder:
            years = Years(pathlib.Path(arguments.programs).resolve(), folder, rows, 1.0 if arguments.whole_numbers else 10000.0)
            try:
                columns[rows] = years.measure()
            finally:
                years.stop_all()
        if arguments.json:
            print(json.dumps({"benchmark": "years", "rows": rows, **columns[rows]}), flush=True)
    if arguments.json:
        return
    print("| Seconds | " + " | ".join(f"{rows:,} rows" for rows in columns) + " |")
    print("|---|" + "---|" * len(columns))
    for name in next(iter(columns.values())):
        cells = [times[name] for times in columns.values()]
        digits = 0 if "samples/s" in name else 1 if name == "bytes a row" else 2
        print(f"| {name} | " + " | ".join("–" if cell is None else f"{cell:,.{digits}f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
