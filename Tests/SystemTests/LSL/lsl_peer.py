"""Programs with the Lab Streaming Layer for the tests of lsl_bridge.py, by the package pylsl.

    lsl_peer.py push FILE FIRST   pushes 200 samples of 34 channels per second, and writes time and number of each to FILE
    lsl_peer.py say TEXT          pushes a text when something listens, and prints its time
    lsl_peer.py pull NAME FILE    writes the description of an outlet to FILE, and then time and values of each sample

Times are in µs since 1970, values in JSON.
"""
import json
import math
import sys
import time

import pylsl

OFFSET = time.time() - pylsl.local_clock()


def unix(t):
    return round((t + OFFSET) * 1_000_000)


def push(path, first):
    info = pylsl.StreamInfo("EEG", "EEG", 34, 200, pylsl.cf_float32, "amplifier")
    equal = ["A label of many characters"] * 20
    info.set_channel_labels(["Number", "Fp1", "Group", *equal] + [f"C{number}" for number in range(20, 31)])
    info.set_channel_units(["", "microvolts"] + [""] * 32)
    outlet = pylsl.StreamOutlet(info)
    due = time.monotonic()
    with open(path, "w") as file:
        for number in range(int(first), 10**9):
            t = pylsl.local_clock()
            print(json.dumps([unix(t), number]), file=file, flush=True)
            if number % 100 == 0:
                # Times that are wrong, as of a faulty driver: nobody should record these.
                for wrong in (math.nan, math.inf, t + 1e6):
                    outlet.push_sample([-1] * 34, wrong)
            outlet.push_sample([number, math.nan if number % 10 == 0 else number / 8] + [-number] * 32, t)
            due += 0.005
            time.sleep(max(0, due - time.monotonic()))


def say(text):
    outlet = pylsl.StreamOutlet(pylsl.StreamInfo("Stimuli", "Markers", 1, pylsl.IRREGULAR_RATE, pylsl.cf_string, "screen"))
    while not outlet.wait_for_consumers(1):
        pass
    t = pylsl.local_clock()
    outlet.push_sample([text], t)
    print(json.dumps([unix(t)]), flush=True)
    while True:
        time.sleep(1)


def pull(name, path):
    found = []
    while not found:
        found = pylsl.resolve_byprop("name", name, timeout=1)
    inlet = pylsl.StreamInlet(found[0])
    info = inlet.info()
    with open(path, "w") as file:
        description = [info.type(), info.source_id(), info.get_channel_labels(), info.get_channel_units()]
        print(json.dumps(description), file=file, flush=True)
        while True:
            for sample, t in zip(*inlet.pull_chunk(timeout=0.1)):
                print(json.dumps([unix(t), *sample]), file=file, flush=True)


{"push": push, "say": say, "pull": pull}[sys.argv[1]](*sys.argv[2:])
