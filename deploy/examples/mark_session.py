#!/usr/bin/env python3
"""Marks a recorded session from any Python program, such as an experiment in PsychoPy.

    python3 mark_session.py --broker localhost --group lab --session walk-3 turn

Needs the Debian package python3-paho-mqtt. The time of the marker is that of this machine's clock: synchronise it with NTP,
or leave out "t", so that the collector takes the time of arrival. docs/sessions.md explains sessions.
"""
import argparse
import json
import secrets
import time

import paho.mqtt.publish


def mark(text, session, group="default", broker="localhost", port=1883, **more):
    """Adds a marker, and returns when the broker has it. `more` may have device, value and duration_s, and another id and t."""
    marker = {"id": secrets.token_hex(8), "t": time.time_ns() // 1000, "text": text, **more}
    topic = f"lockstep/{group}/$session/{session}/mark"
    paho.mqtt.publish.single(topic, json.dumps(marker), qos=1, hostname=broker, port=port)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--broker", default="localhost")
    parser.add_argument("--group", default="default")
    parser.add_argument("--session", required=True)
    parser.add_argument("text")
    options = parser.parse_args()
    mark(options.text, options.session, options.group, options.broker)
