#!/usr/bin/env python3
"""Runs the tests of the page for a phone's browser: python3 run_join.py [--only NAME]... [--list]"""

import argparse
import sys
import time
import traceback

sys.dont_write_bytecode = True  # the folder belongs to the sources

from browser import Browser
import join_scenarios


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", action="append", default=[], help="a test to run, by its name")
    options.add_argument("--list", action="store_true", help="print the names of the tests")
    arguments = options.parse_args()
    names = [test.__name__ for test in join_scenarios.ALL]
    if arguments.list:
        print("\n".join(names))
        return 0
    unknown = set(arguments.only) - set(names)
    if unknown:
        options.error(f"unknown tests: {', '.join(sorted(unknown))}")
    failed = 0
    with Browser() as browser:
        for test in join_scenarios.ALL:
            if arguments.only and test.__name__ not in arguments.only:
                continue
            began = time.monotonic()
            try:
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
