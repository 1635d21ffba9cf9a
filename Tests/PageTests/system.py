"""A broker, a collector, agents and the server on free ports, in a temporary folder. All are stopped at the end."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "Sources/LockstepServe/Page"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def recordings():
    """The folder shared/data in a folder above the checkout, or None."""
    for folder in ROOT.parents:
        if (folder / "shared/data/walks/truth.csv").exists():
            return folder / "shared/data"
    return None


class System:
    """Use it as a context manager: `with System(programs) as system: … system.url`."""

    def __init__(self, programs, devices=(), server_options=(), token=None, rules=None, served_store="samples.db"):
        self.programs = pathlib.Path(programs).resolve()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-page-"))
        self.processes = {}
        self.broker_port = free_port()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.devices = devices
        self.token = token
        self.rules = rules
        # The name by which the server reads the store, or None for a server without one.
        self.served_store = served_store
        self.server_options = list(server_options)

    def __enter__(self):
        try:
            self.start_broker()
            self.start_collector()
            for name, source in self.devices:
                self.start_agent(name, source)
            self.start_server()
            self.wait(lambda: self.get("/healthz") is not None, "the server answers")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in reversed(list(self.processes)):
            self.stop(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def broker(self):
        return f"mqtt://127.0.0.1:{self.broker_port}"

    @property
    def store(self):
        return f"sqlite:{self.folder / 'samples.db'}"

    def start(self, name, *command):
        log = open(self.folder / f"{name.replace('/', '-')}.log", "ab")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LOCKSTEP_")}
        self.processes[name] = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            start_new_session=True, cwd=self.folder,
        )
        log.close()

    def stop(self, name, how=signal.SIGTERM):
        process = self.processes.pop(name)
        if process.poll() is None:
            process.send_signal(how)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start_broker(self):
        configuration = self.folder / "mosquitto.conf"
        configuration.write_text(f"listener {self.broker_port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 100000\n")
        mosquitto = shutil.which("mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        self.start("broker", mosquitto, "-c", configuration)
        self.wait(lambda: self.is_open(self.broker_port), "the broker listens")

    def start_collector(self):
        options = []
        if self.rules:
            path = self.folder / "rules.yaml"
            path.write_text(self.rules)
            options = ["--rules", path]
        link = self.folder / (self.served_store or "samples.db")
        if link.name != "samples.db" and not link.is_symlink():
            link.symlink_to("samples.db")
        self.start("collector", self.programs / "lockstep-collector", "--broker", self.broker, "--store", self.store, *options)

    def publish(self, topic, payload):
        subprocess.run(["mosquitto_pub", "-h", "127.0.0.1", "-p", str(self.broker_port), "-q", "1", "-t", topic, "-m", payload], check=True)

    def start_agent(self, address, source, *options):
        group, device = address.split("/")
        self.start(address, self.programs / "lockstep-agent", "--broker", self.broker, "--group", group, "--device", device,
                   "--source", source, "--outbox", self.folder / f"{group}-{device}.outbox", *options)

    def start_server(self):
        options = list(self.server_options)
        if self.token:
            tokens = self.folder / "tokens"
            tokens.write_text(f"operate {self.token}\nread read-{self.token}\n")
            tokens.chmod(0o600)
            options += ["--token-file", tokens]
        self.start("server", self.programs / "lockstep-serve", "--broker", self.broker,
                   *(["--store", f"sqlite:{self.folder / self.served_store}"] if self.served_store else []), "--listen", f"127.0.0.1:{self.port}", "--page", PAGE, *options)

    def is_open(self, port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    def get(self, path):
        """The reply of the server, or None if it does not answer."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=10) as reply:
                body = reply.read()
                return json.loads(body) if "json" in reply.headers.get("Content-Type", "") else body
        except OSError:
            return None

    def wait(self, condition, what, timeout=30):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if condition():
                return
            for name, process in self.processes.items():
                if process.poll() is not None:
                    log = (self.folder / f"{name.replace('/', '-')}.log").read_text(errors="replace")
                    raise RuntimeError(f"{name} ended with code {process.returncode}: {log[-800:]}")
            time.sleep(0.05)
        raise TimeoutError(f"within {timeout} s it was not the case that {what}")

    def wait_for_samples(self, count=1):
        """Waits until all agents have sent samples."""
        def all_have_sent():
            reply = self.get("/api/v1/devices")
            return reply and sum(device["samples"] > count for device in reply["devices"]) >= len(self.devices)
        self.wait(all_have_sent, "all devices send samples", 60)
