#!/usr/bin/env python3
"""Runs the tests of the page for a phone's browser: python3 run_join.py [--programs .build/debug] [--only NAME]... [--list]

Those against a real gateway run only with --programs."""

import sys

sys.dont_write_bytecode = True  # the folder belongs to the sources

from browser import Browser
import join_gateway
import join_scenarios
import runner


def main():
    options = runner.parser(__doc__)
    arguments = options.parse_args()
    tests = join_scenarios.ALL + (join_gateway.ALL if arguments.programs or arguments.list else [])
    if arguments.list:
        print("\n".join(test.__name__ for test in tests))
        return 0
    tests = runner.chosen(tests, options, arguments)
    with Browser() as browser:

        def call(test):
            if test not in join_gateway.ALL:
                return test(browser)
            with join_gateway.Gateway(arguments.programs) as system:
                return test(system, browser)

        return 1 if runner.run(tests, call) else 0


if __name__ == "__main__":
    sys.exit(main())
