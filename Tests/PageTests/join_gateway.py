"""The page for a phone's browser against the real gateway, broker, collector and store."""

import signal
import time

from join_scenarios import EXPECTED, each_once, no_errors, reload, until
from phone import NUMBERED, Phone, REST
from system import ROOT, System, free_port

TOKEN = "alice-0123456789abcdef"


class Gateway(System):
    """A system without agents, with a gateway that serves the page."""

    def __init__(self, programs):
        super().__init__(programs)
        self.gateway_port = free_port()
        self.join = f"http://127.0.0.1:{self.gateway_port}/join"

    def __enter__(self):
        super().__enter__()
        try:
            self.start_gateway()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start_gateway(self):
        users = self.folder / "users"
        users.touch(0o600)
        users.write_text(f"alice {TOKEN}\n")
        self.start("gateway", self.programs / "lockstep-gateway", "--broker", self.broker, "--outbox", self.folder / "gateway.db", "--accept", "any",
                   "--listen", f"127.0.0.1:{self.gateway_port}", "--users-file", users, "--page", ROOT / "Sources/LockstepGateway/Page")
        self.wait(lambda: self.is_open(self.gateway_port), "the gateway listens")

    def device(self):
        return self.get("/api/v1/devices/phones/my-phone")

    def rows(self, stream):
        """All stored samples of the phone."""
        result, begin = [], "-1h"
        while True:
            reply = self.get(f"/api/v1/devices/phones/my-phone/streams/{stream}?from={begin}&to=now&limit=1000")
            rows = (reply or {}).get("rows", [])
            result += rows
            if len(rows) < 1000:
                return result
            begin = rows[-1][0] + 1


def a_phone_appears_with_its_sensors(system, browser):
    with Phone(browser, system.join.removesuffix("/join")) as page:
        page.open(f"{system.join}#device=my-phone&token={TOKEN}")
        page.begin()
        for _ in range(20):
            page.sense(**REST)
            page.drain(0.05)
        until(lambda: (system.device() or {}).get("state") == "active", "the phone in the state active", page, 30)
        until(lambda: len(system.rows("motion/accelerometer")) > 100, "stored samples", page, 30)
        t, x, y, z = system.rows("motion/accelerometer")[-1]
        assert abs(x) < 0.001 and abs(y) < 0.001 and abs(z + 1) < 0.001, f"at rest, face up: {(x, y, z)}"
        assert system.rows("location")[-1][1:3] == [35.7, 139.7]
        assert system.rows("orientation")[-1][1] == "faceUp"
        device = system.device()
        want = {"battery", "location", "motion/accelerometer", "motion/device", "motion/gyroscope", "orientation"}
        names = {stream["stream"] for stream in device["streams"]}
        assert want <= names, f"streams: {sorted(names)}"
        rate = device["rates"]["motion/accelerometer"]
        other = page.browser.tab(page.context)
        until(lambda: system.device()["state"] == "background", "the phone in the background", page, 30)
        page.call("Page.bringToFront")
        until(lambda: system.device()["state"] in ("resumed", "active"), "the phone in use again", page, 30)
        page.evaluate("document.getElementById('stop').click()")
        until(lambda: system.device()["state"] == "terminated", "the end", page, 30)
        states = [entry["state"] for entry in system.get("/api/v1/devices/phones/my-phone/states")["states"]]
        no_errors(page)
        assert other
        return f"{rate:.0f} Hz; states {', '.join(states)}"


def kills_of_the_gateway_lose_nothing(system, browser):
    """Numbered motion events; the gateway is killed ten times, the page is reloaded while it is gone, and goes offline."""
    with Phone(browser, system.join.removesuffix("/join"), script=NUMBERED) as page:
        page.open(f"{system.join}#device=my-phone&token={TOKEN}")
        page.begin()
        may_be_lost = set()
        page.expect("caches.match('/join').then(Boolean)", what="a page that is kept for reloads")
        for kill in range(10):
            before = page.evaluate("numbers()")
            page.expect(f"numbers() > {before + 40 + 13 * kill}", 60)
            system.stop("gateway", signal.SIGKILL)
            if kill in (3, 7): may_be_lost |= reload(page)
            page.expect(f"parseInt(document.getElementById('waiting').textContent) >= 2", 60, "batches that wait")
            system.start_gateway()
            page.expect("/^[01] batch/.test(document.getElementById('waiting').textContent)", 60, "an empty queue")
        page.evaluate("pause()")
        page.evaluate("document.getElementById('stop').click()")
        page.expect("document.getElementById('waiting').textContent === '0 batches'", 60, "an empty queue at the end")
        numbers = page.evaluate("numbers()")
        stored = lambda: {round(-row[1] * 9.80665 * 1000) for row in system.rows("motion/accelerometer")}
        until(lambda: stored() | may_be_lost >= set(range(1, numbers + 1)), f"{numbers} stored samples", page, 60)
        each_once(system.rows("motion/accelerometer"), numbers, may_be_lost)
        lost = numbers - len(stored())
        device = system.device()
        assert device["missing"] == 0 and device["on_its_way"] == 0 and device["conflicts"] == 0 and device["dropped_samples"] == 0, f"missing, conflicts, drops: {device}"
        no_errors(page, EXPECTED)
        return f"{numbers - lost} samples stored once, {lost} lost in the second of a reload, {device['duplicates']} duplicates on the way, 10 kills, 2 reloads"


ALL = [a_phone_appears_with_its_sensors, kills_of_the_gateway_lose_nothing]
