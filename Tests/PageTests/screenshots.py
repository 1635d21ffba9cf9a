#!/usr/bin/env python3
"""Takes a screenshot of each view: python3 screenshots.py --programs DIR --out DIR [--seconds N]"""

import argparse
import pathlib
import signal
import sys
import time

sys.dont_write_bytecode = True  # the folder belongs to the sources

from browser import Browser
from join_gateway import TOKEN, Gateway
from phone import REST, Phone
from sessions import recorded
from system import System, recordings

VIEWS = {
    "fleet": ("#/", "document.querySelectorAll('.fleet-row[data-key]').length > 5", False),
    "device": ("#/device/lab/left", "document.querySelector('.dial-text')?.textContent.includes('°')", True),
    "lost-device": ("#/device/field/rover", "document.querySelector('.device-problems .problem')", False),
    "events": ("#/events", "document.querySelectorAll('.event').length > 2", False),
    "sessions": ("#/sessions", "document.querySelector('#main a[href*=\"sessions/lab/\"]')", False),
    "session": ("#/sessions/lab/walk", "document.querySelectorAll('.chart').length > 0 && document.querySelector('.chart-note').hidden", True),
    "map": ("#/map", "document.querySelectorAll('.map-item').length > 3", False),
    "bouncer": ("#/bouncer/lab/left", "document.querySelector('.pause')?.hidden", False),
    "system": ("#/system", "document.querySelectorAll('.card').length > 3", False),
    "unknown-device": ("#/device/lab/nobody", "document.querySelector('.empty-title')", False),
}
RULES = """targets: {bus: {mqtt: event}}
rules:
  unreachable: {when: {state: [background, terminated]}, to: bus, message: "{device} cannot be reached"}
  first-steps: {when: {steps: 50}, to: bus, message: "{device} has taken {value} steps today"}
  brisk-walk: {when: {value: steps.cadence, above: 1.8}, cooldown: 20s, to: bus, message: "{device} walks with {value} steps a second"}
"""
# The third one is the narrowest that the page has to fit; the last one is the desktop with the browser's zoom at 200 %.
SCREENS = {"desktop": (1440, 900, 1, False), "phone": (390, 844, 2, True), "narrow": (320, 640, 2, True), "zoomed": (720, 450, 2, False)}


def devices():
    """Simulated persons, and recordings of a moved sensor where they are available."""
    names = ["left", "right", "hip", "wrist", "ankle", "chest"]
    result = [(f"lab/{name}", f"simulate:{seed}") for seed, name in enumerate(names, 1)]
    result += [(f"field/{name}", f"simulate:{seed}") for seed, name in enumerate(["rover", "mast", "gate", "buoy"], 11)]
    folder = recordings()
    if folder:
        trial = folder / "orientation/10_undisturbed_slow_translation_A.csv"
        result.append(("lab/turntable", f"replay:{trial}"))
    return result


def join_page(gateway, browser, out):
    """The page for phones: the form, and the page that measures."""
    errors = []
    for screen, (width, *_) in SCREENS.items():
        for theme in ("light", "dark"):
            with Phone(browser, f"http://127.0.0.1:{gateway.gateway_port}", width=width, dark=theme == "dark") as page:
                page.open(f"{gateway.join}#device=my-phone&token={TOKEN}")
                page.expect("document.getElementById('form')?.hidden === false", 30, "the form is shown")
                page.screenshot(out / f"join-{screen}-{theme}.png")
                print(out / f"join-{screen}-{theme}.png", flush=True)
                page.begin()
                page.sense(**REST)
                page.expect("/Hz/.test(document.getElementById('sensors').textContent) && document.getElementById('stored').textContent !== 'none yet'", 30, "the page measures")
                page.screenshot(out / f"join-running-{screen}-{theme}.png")
                print(out / f"join-running-{screen}-{theme}.png", flush=True)
                errors += page.errors
    return errors


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", required=True)
    options.add_argument("--out", required=True, type=pathlib.Path)
    options.add_argument("--seconds", type=float, default=45)
    arguments = options.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    failed = False
    with System(arguments.programs, devices(), rules=RULES) as system, Browser() as browser:
        system.wait_for_samples()
        time.sleep(arguments.seconds)
        recorded(system, "walk", seconds=5)
        system.stop("field/rover", signal.SIGKILL)
        system.stop("field/gate")
        for screen, (width, height, scale, mobile) in SCREENS.items():
            for theme in ("light", "dark"):
                page = browser.page(width, height, scale, mobile, dark=theme == "dark")
                for name, (view, ready, is_long) in VIEWS.items():
                    page.open("about:blank")
                    # Tall enough for the whole view: what is out of the window is not painted.
                    size = height * (2 if is_long and not mobile else 6 if is_long else 1)
                    page.call("Emulation.setDeviceMetricsOverride", width=width, height=min(size, 3200) if is_long else height, deviceScaleFactor=scale, mobile=mobile)
                    page.open(f"{system.url}/{view}")
                    page.expect(ready, 30, f"{name} is shown")
                    page.drain(4 if is_long else 2)
                    if is_long:
                        tall = page.evaluate("Math.ceil(document.querySelector('.view').getBoundingClientRect().bottom) + (innerWidth < 721 ? 56 : 0)")
                        page.call("Emulation.setDeviceMetricsOverride", width=width, height=tall, deviceScaleFactor=scale, mobile=mobile)
                        page.drain(1.5)
                    path = arguments.out / f"{name}-{screen}-{theme}.png"
                    page.screenshot(path)
                    print(path, flush=True)
                wrong = [error for error in page.errors if "404" not in error]
                if wrong:
                    failed = True
                    print("errors in the console:", *wrong[:5], sep="\n  ", file=sys.stderr)
                page.close()
    with Gateway(arguments.programs) as gateway, Browser() as browser:
        wrong = join_page(gateway, browser, arguments.out)
        if wrong:
            failed = True
            print("errors in the console:", *wrong[:5], sep="\n  ", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
