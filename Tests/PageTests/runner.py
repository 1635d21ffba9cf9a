"""Chooses and runs tests of a page, and prints a line for each."""

import argparse
import time
import traceback


def parser(description):
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--programs", help="folder with the programs")
    options.add_argument("--only", action="append", default=[], help="a test to run, by its name")
    options.add_argument("--list", action="store_true", help="print the names of the tests")
    return options


def chosen(tests, options, arguments):
    """The tests of the option --only, or all."""
    names = [test.__name__ for test in tests]
    if unknown := set(arguments.only) - set(names):
        options.error(f"unknown tests: {', '.join(sorted(unknown))}")
    return [test for test in tests if not arguments.only or test.__name__ in arguments.only]


def run(tests, call):
    """Calls `call` with each test. Returns how many failed."""
    failed = 0
    for test in tests:
        began = time.monotonic()
        try:
            note = call(test)
            print(f"ok      {test.__name__} ({time.monotonic() - began:.1f} s){f': {note}' if note else ''}", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAILED  {test.__name__}: {error}", flush=True)
            if not isinstance(error, AssertionError):
                traceback.print_exc()
    return failed
