"""Measures the comparison of clocks where the truth is known: error against bound, convergence, bytes and CPU time.

Agents run with a preloaded library that makes their clocks wrong and lets them drift. Between them and the broker is a
proxy that delays each direction differently. Beside each agent, a chronyd that does not adjust the clock estimates the
offset to another chronyd, over datagrams with the same delays, jitter and loss. Only the standard library of Python is
needed, and the package chrony.
"""

import argparse
import asyncio
import getpass
import itertools
import json
import os
import random
import shutil
import socket
import statistics
import struct
import subprocess
import tempfile
import time

from ports import free_port, listens, wait_until

LIBRARY = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long long offset, drift, start; /* us, parts per billion, ns of the raw clock */
__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("LOCKSTEP_TEST_DRIFT");
    if (text) sscanf(text, "%lld %lld %lld", &offset, &drift, &start);
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID) return result;
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &now);
    long long elapsed = now.tv_sec * 1000000000LL + now.tv_nsec - start;
    long long error = (long long)((__int128)elapsed * drift / 1000000000);
    if (clock == CLOCK_REALTIME) error += offset * 1000;
    long long total = time->tv_nsec + error;
    long long seconds = total >= 0 ? total / 1000000000 : -((-total + 999999999) / 1000000000);
    time->tv_sec += seconds;
    time->tv_nsec = total - seconds * 1000000000;
    return 0;
}
"""


class Case:
    """A device: its clock and its path to the broker. Delays are in ms, loss is a part of the packets."""

    def __init__(self, name, offset=0, drift=0, there=0.0, back=0.0, jitter=0.0, loss=0.0):
        self.name, self.offset, self.drift = name, offset, drift
        self.there, self.back, self.jitter, self.loss = there, back, jitter, loss
        self.bytes = 0
        self.samples = []
        self.first = None
        # Error and bound of chrony's estimate, in µs.
        self.chrony = []

    @property
    def is_direct(self):
        return not (self.there or self.back or self.jitter or self.loss)

    @property
    def asymmetry(self):
        return abs(self.there - self.back)

    def truth(self, raw, start):
        return self.offset + (raw - start) * self.drift / 1e12


CASES = [
    Case("loopback"),
    Case("loopback-fast", offset=750_000, drift=100_000),
    Case("loopback-slow", offset=-3_600_000_000, drift=-100_000),
    Case("asymmetry-1ms", offset=1_000_000, drift=100_000, there=3, back=2),
    Case("asymmetry-10ms", offset=-500_000, drift=-100_000, there=2, back=12),
    Case("asymmetry-50ms", offset=9_000_000, drift=50_000, there=52, back=2),
    Case("jitter", drift=-60_000, there=5, back=5, jitter=5),
    Case("jitter-and-loss", offset=-20_000, drift=80_000, there=10, back=10, jitter=10, loss=0.05),
]


async def pump(reader, writer, delay, case):
    """Forwards one direction. TCP keeps the order, so a late packet delays those behind it; a lost one arrives 200 ms
    later, as after a retransmission."""
    queue = asyncio.Queue()

    async def forward():
        while True:
            due, data = await queue.get()
            if data is None:
                break
            await asyncio.sleep(max(0, due - time.monotonic()))
            writer.write(data)
        writer.close()

    task = asyncio.create_task(forward())
    while data := await reader.read(65536):
        case.bytes += len(data)
        late = random.expovariate(1 / case.jitter) if case.jitter else 0
        if random.random() < case.loss:
            late += 200
        queue.put_nowait((time.monotonic() + (delay + late) / 1000, data))
    queue.put_nowait((0, None))
    await task


async def proxy(case, port, broker):
    async def connected(reader, writer):
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        there, back = await asyncio.open_connection("127.0.0.1", broker)
        back.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await asyncio.gather(pump(reader, back, case.there, case), pump(there, writer, case.back, case))
        except (asyncio.CancelledError, OSError):
            pass  # The end of the measurement, or of a connection.

    return await asyncio.start_server(connected, "127.0.0.1", port)


class Relay(asyncio.DatagramProtocol):
    """Forwards datagrams in both directions as `pump` does; a lost packet does not arrive at all."""

    def __init__(self, case, server):
        self.case, self.server = case, server
        self.replies = {}

    def connection_made(self, transport):
        self.transport = transport

    def forward(self, send, delay):
        if random.random() < self.case.loss:
            return
        late = random.expovariate(1 / self.case.jitter) if self.case.jitter else 0
        asyncio.get_running_loop().call_later((delay + late) / 1000, send)

    def datagram_received(self, data, client):
        self.forward(lambda: asyncio.ensure_future(self.send(data, client)), self.case.there)

    async def send(self, data, client):
        if client not in self.replies:
            relay = self

            class Replies(asyncio.DatagramProtocol):
                def datagram_received(self, data, _):
                    relay.forward(lambda: relay.transport.sendto(data, client), relay.case.back)

            self.replies[client], _ = await asyncio.get_running_loop().create_datagram_endpoint(
                Replies, remote_addr=("127.0.0.1", self.server)
            )
        self.replies[client].sendto(data)


def chronyd(folder, name, lines):
    """Returns the command of a chronyd that does not adjust the clock. `lines` are its settings."""
    with open(f"{folder}/{name}.conf", "w") as file:
        lines += ["cmdport 0", f"bindcmdaddress {folder}/{name}.sock", f"pidfile {folder}/{name}.pid"]
        file.write("\n".join(lines) + "\n")
    return ["chronyd", "-x", "-U", "-u", getpass.getuser(), "-d", "-f", f"{folder}/{name}.conf"]


async def start_chrony(cases, folder, start):
    """Starts a server, and a client of it for each case. With a request every 8 s, it sends as many as an agent."""
    port = free_port(socket.SOCK_DGRAM)
    settings = ["local stratum 1", "allow 127.0.0.1", "bindaddress 127.0.0.1", f"port {port}"]
    start(chronyd(folder, "server", settings))
    for case in cases:
        own = port
        if not case.is_direct:
            relay, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: Relay(case, port), local_addr=("127.0.0.1", 0)
            )
            own = relay.get_extra_info("sockname")[1]
        settings = ["port 0", f"server 127.0.0.1 port {own} iburst minpoll 3 maxpoll 3"]
        start(chronyd(folder, case.name, settings))


async def read_chrony(case, folder):
    """Adds chrony's estimate, if it has one. Client and server have the same clock, so the true offset is 0."""
    process = await asyncio.create_subprocess_exec(
        "chronyc", "-h", f"{folder}/{case.name}.sock", "-c", "tracking",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )
    output, _ = await process.communicate()
    fields = output.decode().strip().split(",")
    if len(fields) < 14 or fields[13] == "Not synchronised":
        return
    offset, delay, dispersion = (float(fields[index]) * 1e6 for index in (4, 10, 11))
    case.chrony.append((abs(offset), delay / 2 + dispersion))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def raw_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def packet(kind, body):
    length, size = len(body), b""
    while True:
        size += bytes([length % 128 | (128 if length > 127 else 0)])
        length //= 128
        if not length:
            return bytes([kind]) + size + body


def text(value):
    return struct.pack("!H", len(value)) + value.encode()


def fleet(port, devices, seconds, collector):
    """Sends requests of many devices over one connection, at the rate that these devices have on average."""
    link = socket.create_connection(("127.0.0.1", port))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.sendall(packet(0x10, text("MQTT") + b"\x04\x02\x00\x3c" + text("bench-fleet")))
    link.recv(4)
    link.sendall(packet(0x82, b"\x00\x01" + text("lockstep/fleet/+/clock/pong") + b"\x00"))
    link.recv(5)
    link.setblocking(False)
    rate = devices * 4 / 30
    sent, round_trips, held, rest = {}, [], [], b""
    start, cpu, number = time.monotonic(), cpu_seconds(collector), 0
    while (now := time.monotonic()) < start + seconds + 1:
        while now < start + seconds and number < (now - start) * rate:
            number += 1
            sent[number] = raw_ns()
            topic = f"lockstep/fleet/d{number % devices}/clock/ping"
            link.sendall(packet(0x30, text(topic) + b'{"n":%d}' % number))
        try:
            rest += link.recv(65536)
        except BlockingIOError:
            time.sleep(0.0002)
            continue
        arrived = raw_ns()
        while len(rest) > 2:
            length, shift, at = 0, 0, 1
            while at < len(rest):
                length |= (rest[at] & 127) << shift
                shift += 7
                at += 1
                if rest[at - 1] < 128:
                    break
            if len(rest) < at + length:
                break
            body, rest = rest[at : at + length], rest[at + length :]
            pong = json.loads(body[2 + struct.unpack("!H", body[:2])[0] :])
            held.append(pong["sent"] - pong["received"])
            round_trips.append((arrived - sent.pop(pong["n"])) / 1000)
    used = cpu_seconds(collector) - cpu
    link.close()
    if not round_trips:
        raise SystemExit("the collector did not answer")
    round_trips.sort()
    held.sort()
    return {
        "devices": devices,
        "requests": number,
        "answered": len(round_trips),
        "requests_per_s": round(number / seconds, 1),
        "round_trip_us_median": round(statistics.median(round_trips), 1),
        "round_trip_us_p99": round(round_trips[int(len(round_trips) * 0.99)], 1),
        "collector_hold_us_median": statistics.median(held),
        "collector_hold_us_p99": held[int(len(held) * 0.99)],
        "collector_cpu_percent": round(100 * used / seconds, 2),
    }


async def measure(cases, programs, seconds, folder):
    port = free_port()
    with open(f"{folder}/broker.conf", "w") as file:
        file.write(f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n")
    library = f"{folder}/drift.so"
    with open(f"{folder}/drift.c", "w") as file:
        file.write(LIBRARY)
    compiler = shutil.which("cc") or shutil.which("clang")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, f"{folder}/drift.c"], check=True)
    os.mkdir(f"{folder}/sysfs")
    running = []

    def start(command, **options):
        running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options))
        return running[-1].pid

    store = f"sqlite:{folder}/store.db"
    try:
        start(["mosquitto", "-c", f"{folder}/broker.conf"])
        wait_until("mosquitto listens", lambda: listens(port))
        collector = start(
            [f"{programs}/lockstep-collector", "--broker", f"mqtt://127.0.0.1:{port}", "--store", store]
        )
        wait_until("the collector creates its store", lambda: os.path.exists(f"{folder}/store.db"))
        await asyncio.sleep(1)
        origin = raw_ns()
        servers, pids = [], {}
        for case in cases:
            own = port
            # Every case passes through a proxy that counts its bytes, except those without delays.
            if not case.is_direct:
                own = free_port()
                servers.append(await proxy(case, own, port))
            pids[case.name] = start(
                [
                    f"{programs}/lockstep-agent", "--broker", f"mqtt://127.0.0.1:{own}", "--device", case.name,
                    "--source", "battery", "--sysfs-root", f"{folder}/sysfs", "--outbox", f"{folder}/{case.name}.out",
                ],
                env=os.environ | {"LD_PRELOAD": library, "LOCKSTEP_TEST_DRIFT": f"{case.offset} {case.drift} {origin}"},
            )
        await start_chrony(cases, folder, start)
        begin = time.monotonic()
        settled = None
        # One case at a time: the load of starting chronyc for all of them would disturb the measurement.
        turns = itertools.cycle(cases)
        while time.monotonic() < begin + seconds:
            await asyncio.sleep(0.5)
            before = raw_ns()
            process = await asyncio.create_subprocess_exec(
                f"{programs}/lockstep", "clock", "--json", "--store", store, stdout=asyncio.subprocess.PIPE
            )
            output, _ = await process.communicate()
            after = raw_ns()
            clocks = {clock["device"]: clock for clock in map(json.loads, output.splitlines())}
            elapsed = time.monotonic() - begin
            for case in cases:
                if clock := clocks.get(case.name):
                    case.first = case.first or elapsed
                    # The command read the clock between these times.
                    truth = case.truth((before + after) / 2, origin)
                    case.samples.append((abs(clock["offset_us"] - truth), clock["bound_us"], elapsed))
            if elapsed >= 10:
                await read_chrony(next(turns), folder)
            if settled is None and elapsed > 20:
                settled = (elapsed, {c.name: (c.bytes, cpu_seconds(pids[c.name])) for c in cases})
        end = time.monotonic() - begin
        for case in cases:
            errors = [error for error, _, elapsed in case.samples if elapsed >= 10]
            bounds = [bound for _, bound, elapsed in case.samples if elapsed >= 10]
            # An agent's time line is anchored to its wall clock with an error of up to 0.2 ms.
            broken = sum(error > bound + 200 for error, bound, _ in case.samples)
            span = end - settled[0] if settled else 0
            bytes_before, cpu_before = settled[1][case.name] if settled else (0, 0)
            yield {
                "case": case.name,
                "asymmetry_ms": case.asymmetry,
                "first_estimate_s": round(case.first or -1, 1),
                "error_us_median": round(statistics.median(errors)) if errors else None,
                "error_us_max": round(max(errors)) if errors else None,
                "bound_us_median": round(statistics.median(bounds)) if bounds else None,
                "checks": len(case.samples),
                "bound_broken": broken,
                "chrony_error_us_median": round(statistics.median(e for e, _ in case.chrony)) if case.chrony else None,
                "chrony_error_us_max": round(max(e for e, _ in case.chrony)) if case.chrony else None,
                "chrony_bound_us_median": round(statistics.median(b for _, b in case.chrony)) if case.chrony else None,
                "chrony_checks": len(case.chrony),
                "chrony_bound_broken": sum(error > bound for error, bound in case.chrony),
                "bytes_per_s": None if case.is_direct or not span else round((case.bytes - bytes_before) / span, 1),
                "agent_cpu_percent": round(100 * (cpu_seconds(pids[case.name]) - cpu_before) / span, 3) if span else None,
            }
        yield await asyncio.to_thread(fleet, port, 10_000, min(10, seconds), collector)
        for server in servers:
            server.close()
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()


async def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", required=True, help="folder of the built programs")
    parser.add_argument("--seconds", type=int, default=180, help="duration (default: 180)")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        async for result in measure(CASES, options.programs, options.seconds, folder):
            failed |= result.get("bound_broken", 0) > 0
            if options.json:
                print(json.dumps(result), flush=True)
            else:
                print("  ".join(f"{key}={value}" for key, value in result.items()), flush=True)
    if failed:
        raise SystemExit("a bound was broken")


if __name__ == "__main__":
    asyncio.run(main())
