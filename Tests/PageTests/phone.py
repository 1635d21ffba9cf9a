"""A tab that plays a phone: with emulated sensors, or with motion events that are numbered."""

import math

from browser import Page

GRAVITY = 9.80665
# The readings of a phone that lies still, face up, with the signs of the W3C.
REST = {"acceleration": (0, 0, GRAVITY), "quaternion": (0, 0, 0, 1)}

# Dispatches 60 events a second while the page measures. x counts them in steps of 0.001 m/s², also across reloads.
# `lastKept` is the newest of them in the database of the browser.
NUMBERED = """
    globalThis.numbers = () => Number(sessionStorage.getItem('numbers') ?? 0);
    let isPaused = false;
    globalThis.pause = () => { isPaused = true; };
    const tick = () => {
        if (isPaused || !/waiting|Hz|samples/.test(document.querySelector('#sensors .value')?.textContent ?? 'off')) return;
        const number = numbers() + 1;
        sessionStorage.setItem('numbers', number);
        dispatchEvent(new DeviceMotionEvent('devicemotion', { accelerationIncludingGravity: { x: number / 1000, y: 0, z: 9.8 }, interval: 16 }));
    };
    if (location.pathname.startsWith('/join')) setInterval(tick, 16);
    globalThis.lastKept = () => new Promise((resolve, reject) => {
        const opening = indexedDB.open('lockstep-join');
        opening.onerror = () => reject(opening.error);
        opening.onsuccess = () => {
            const reading = opening.result.transaction('batches').objectStore('batches').getAll();
            reading.onerror = () => reject(reading.error);
            reading.onsuccess = () => {
                opening.result.close();
                const streams = reading.result.flatMap((batch) => batch.streams).filter(({ stream }) => stream === 'motion/accelerometer');
                resolve(Math.max(0, ...streams.flatMap(({ samples }) => samples.map((sample) => Math.round(-sample[1] * 9806.65)))));
            };
        };
    });
"""


def turned(posture):
    """Readings of a phone in another posture."""
    half = math.sqrt(0.5)
    return {"upright": {"acceleration": (0, GRAVITY, 0), "quaternion": (half, 0, 0, half)}}[posture]


class Phone(Page):
    """Use it as a context manager. Without `script` its sensors are emulated. It has a browser context, and so storage,
    of its own; with the context "" it has that of the browser's profile."""

    def __init__(self, browser, origin, script=None, width=390, dark=False, context=None):
        self.context = browser.context() if context is None else context
        self.owns_context = context is None
        self.browser = browser
        super().__init__(browser.tab(self.context))
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=2, mobile=width < 800)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        browser.call("Browser.grantPermissions", origin=origin, permissions=["geolocation", "sensors", "wakeLockScreen"], **({"browserContextId": self.context} if self.context else {}))
        self.call("Emulation.setGeolocationOverride", latitude=35.7, longitude=139.7, accuracy=5)
        self.kinds = [] if script else ["accelerometer", "linear-acceleration", "gyroscope", "relative-orientation"]
        for kind in self.kinds:
            self.call("Emulation.setSensorOverrideEnabled", enabled=True, type=kind, metadata={"available": True, "minimumFrequency": 1, "maximumFrequency": 60})
        if script:
            self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def begin(self):
        """Taps Start, as a person does: browsers ask for permission only then."""
        self.expect("document.getElementById('form')?.hidden === false")
        x, y = self.evaluate("(() => { const b = document.querySelector('#form [type=submit]'); b.scrollIntoView({block: 'center'}); const r = b.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.expect("document.getElementById('running').hidden === false")

    def sense(self, acceleration, quaternion, rate=(0, 0, 0)):
        """Sets the readings: m/s² including gravity, the attitude (x, y, z, w), °/s."""
        def xyz(values):
            return {"xyz": dict(zip("xyz", values))}
        x, y, z, w = quaternion
        # The rest of the acceleration is gravity, upwards with the signs of the W3C.
        up = (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y))
        linear = [value - GRAVITY * part for value, part in zip(acceleration, up)]
        readings = {"accelerometer": xyz(acceleration), "linear-acceleration": xyz(linear), "gyroscope": xyz([math.radians(value) for value in rate]),
                    "relative-orientation": {"quaternion": {"x": x, "y": y, "z": z, "w": w}}}
        for kind in self.kinds:
            self.call("Emulation.setSensorOverrideReadings", type=kind, reading=readings[kind])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        if self.owns_context:
            self.browser.dispose(self.context)

