"""Measures the memory of lockstep-serve over time, with live clients and queries. Needs only Python's standard library.

100 simulated devices publish 1,000 samples a second. 20 clients receive events, and one asks for an envelope, the newest
states and the metrics each second, as open pages do.
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from ports import free_port, listens, wait_until

DEVICES = 100
STREAM = "motion/accelerometer"
LIVE_CLIENTS = 16


def await_port(port, program):
    def is_ready():
        if program.poll() is not None:
            raise SystemExit(f"{program.args[0]} ended with exit code {program.returncode}: try to start it by hand")
        return listens(port)

    wait_until(f"{program.args[0]} listens on port {port}", is_ready)


class Clients:
    """The clients of the server. Each notes when it received something last."""

    def __init__(self, address):
        self.address = address
        self.events = self.queries = self.failures = 0
        self.lock = threading.Lock()

    def start(self):
        paths = [f"/api/v1/live?device=simulation/sim-{i + 1:04}&stream={urllib.parse.quote(STREAM)}&hz=10" for i in range(LIVE_CLIENTS)]
        for path in paths + ["/api/v1/states", "/api/v1/states", "/api/v1/fleet", "/api/v1/fleet"]:
            threading.Thread(target=self.listen, args=(path,), daemon=True).start()
        threading.Thread(target=self.ask, daemon=True).start()

    def listen(self, path):
        while True:
            try:
                with urllib.request.urlopen(self.address + path, timeout=60) as answer:
                    for line in answer:
                        if line.startswith(b"data:"):
                            with self.lock:
                                self.events += 1
            except OSError:
                with self.lock:
                    self.failures += 1
                time.sleep(1)

    def ask(self):
        number = 0
        while True:
            number += 1
            device = f"/api/v1/devices/simulation/sim-{number % DEVICES + 1:04}"
            for path in (f"{device}/streams/{STREAM}?from=-1h&points=1000", f"{device}/states", "/metrics"):
                try:
                    with urllib.request.urlopen(self.address + path, timeout=60) as answer:
                        answer.read()
                    with self.lock:
                        self.queries += 1
                except OSError:
                    with self.lock:
                        self.failures += 1
            time.sleep(1)


def memory(program):
    """The resident and the anonymous memory in MB, and the CPU time in s."""
    fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{program.pid}/status").read_text().splitlines())
    times = pathlib.Path(f"/proc/{program.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields["VmRSS"].split()[0]) / 1000, int(fields["RssAnon"].split()[0]) / 1000, (int(times[11]) + int(times[12])) / 100


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", required=True, help="folder with the programs")
    options.add_argument("--minutes", type=int, default=60)
    options.add_argument("--json", action="store_true")
    arguments = options.parse_args()
    programs = pathlib.Path(arguments.programs).resolve()
    running = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:

        def start(*command):
            running.append(subprocess.Popen([str(part) for part in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            return running[-1]

        try:
            port, http = free_port(), free_port()
            pathlib.Path(folder, "broker.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 100000\n")
            broker = f"mqtt://127.0.0.1:{port}"
            await_port(port, start("mosquitto", "-c", "broker.conf"))
            start(programs / "lockstep-collector", "--broker", broker, "--store", "sqlite:samples.db")
            server = start(programs / "lockstep-serve", "--broker", broker, "--store", "sqlite:samples.db", "--listen", f"127.0.0.1:{http}")
            await_port(http, server)
            load = start(programs / "lockstep", "simulate", "--broker", broker, "--devices", DEVICES, "--sample-rate", 10, "--group", "simulation", "--minutes", arguments.minutes + 5)
            clients = Clients(f"http://127.0.0.1:{http}")
            clients.start()
            if not arguments.json:
                print("serve-memory: lockstep-serve, 100 devices with 1,000 samples/s, 20 event streams, 3 queries a second\n")
                print("  minute   resident MB   anonymous MB   CPU %      events   queries")
            rows = []
            began, cpu = time.monotonic(), 0.0
            for minute in range(1, arguments.minutes + 1):
                time.sleep(max(0, began + 60 * minute - time.monotonic()))
                for program in (server, load):
                    if program.poll() is not None:
                        raise SystemExit(f"{program.args[0]} ended with exit code {program.returncode}: try to start it by hand")
                resident, anonymous, used = memory(server)
                row = {"minute": minute, "resident_mb": round(resident, 1), "anonymous_mb": round(anonymous, 1), "cpu_percent": round((used - cpu) / 0.6, 2), "events": clients.events, "queries": clients.queries, "failures": clients.failures}
                cpu = used
                rows.append(row)
                if arguments.json:
                    print(json.dumps({"benchmark": "serve-memory", **row}), flush=True)
                else:
                    print(f"  {minute:6} {resident:13.1f} {anonymous:14.1f} {row['cpu_percent']:7.2f} {clients.events:11} {clients.queries:9}", flush=True)
            half = rows[len(rows) // 2:]
            if not arguments.json:
                growth = half[-1]["anonymous_mb"] - half[0]["anonymous_mb"]
                print(f"\n  anonymous memory in the second half: {growth:+.1f} MB; failed requests: {clients.failures}")
        finally:
            for program in reversed(running):
                program.terminate()
            for program in running:
                program.wait()


if __name__ == "__main__":
    main()
