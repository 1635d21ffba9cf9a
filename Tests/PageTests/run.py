#!/usr/bin/env python3
"""Runs the tests of the page: python3 run.py --programs .build/debug [--only NAME]... [--unit] [--list]"""

import functools
import http.server
import pathlib
import sys
import threading

sys.dont_write_bytecode = True  # the folder belongs to the sources

from browser import Browser
import features
import runner
import scenarios
import sessions
from system import PAGE, System
import truth

TESTS = truth.ALL + features.ALL + sessions.ALL + scenarios.ALL
HERE = pathlib.Path(__file__).resolve().parent
DEVICES = [(f"lab/{name}", f"simulate:{seed}") for seed, name in enumerate(["left", "right", "hip", "wrist"], 1)]


def unit_tests(browser):
    """Runs the tests of the calculations in the browser; returns their number and the failures."""
    handler = functools.partial(Files, directory=str(HERE.parents[1]))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        page = browser.page()
        page.open(f"http://127.0.0.1:{server.server_port}/Tests/PageTests/unit/index.html")
        files = [path.name for path in sorted((HERE / "unit").glob("*.test.js"))]
        page.expect("document.readyState === 'complete'")
        results = page.evaluate(f"Promise.all({files}.map((name) => import('/Tests/PageTests/unit/' + name))).then(() => globalThis.results)")
        page.close()
        return len(results), [f"{result['name']}: {result['error']}" for result in results if result["error"]]
    finally:
        server.shutdown()


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}

    def log_message(self, *_):
        pass


def main():
    options = runner.parser(__doc__)
    options.add_argument("--unit", action="store_true", help="run only the tests of the calculations")
    arguments = options.parse_args()
    if arguments.list:
        print("\n".join(test.__name__ for test in TESTS))
        return 0
    tests = runner.chosen(TESTS, options, arguments)
    if not arguments.unit and not arguments.programs:
        options.error("--programs is missing")
    with Browser() as browser:
        if arguments.unit:
            count, failures = unit_tests(browser)
            print(f"ok      {count} tests of calculations" if count and not failures else "\n".join(["FAILED", *failures]))
            return 0 if count and not failures else 1
        with System(arguments.programs, DEVICES) as system:
            system.wait_for_samples()
            return 1 if runner.run(tests, lambda test: test(system, browser)) else 0


if __name__ == "__main__":
    sys.exit(main())
