#!/usr/bin/env python3
"""Runs the tests of the page for a phone's browser: python3 run_join.py [--programs .build/debug] [--only NAME]... [--list]"""

import argparse
import sys
import time
import traceback

sys.dont_write_bytecode = True  # the folder belongs to the sources

from browser import Browser
import join_gateway
import join_scenarios


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--programs", help="folder with the programs, for the tests against a real gateway")
    options.add_argument("--only", action="append", default=[], help="a test to run, by its name")
    options.add_argument("--list", action="store_true", help="print the names of the tests")
    arguments = options.parse_args()
    tests = join_scenarios.ALL + (join_gateway.ALL if arguments.programs or arguments.list else [])
    names = [test.__name__ for test in tests]
    if arguments.list:
        print("\n".join(names))
        return 0
    unknown = set(arguments.only) - set(names)
    if unknown:
        options.error(f"unknown tests: {', '.join(sorted(unknown))}")
    failed = 0
    with Browser() as browser:
        for test in tests:
            if arguments.only and test.__name__ not in arguments.only:
                continue
            began = time.monotonic()
            try:
                if test in join_gateway.ALL:
                    with join_gateway.Gateway(arguments.programs) as system:
                        note = test(system, browser)
                else:
                    note = test(browser)
                print(f"ok      {test.__name__} ({time.monotonic() - began:.1f} s){f': {note}' if note else ''}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAILED  {test.__name__}: {error}", flush=True)
                if not isinstance(error, AssertionError):
                    traceback.print_exc()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
