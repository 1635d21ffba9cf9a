#!/usr/bin/env python3
"""Reads batches in CBOR or JSON and prints each as one line of JSON.

    python3 deploy/examples/read_cbor.py [HOST [PORT]]

Needs the Debian packages python3-cbor2 and python3-paho-mqtt (version 1 or 2).
"""
import json
import struct
import sys

import cbor2


def varint(data, at):
    """Decodes a little-endian base-128 number at an offset. Returns it and the offset of the next byte."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def series(data):
    """Decodes a packed series of numbers."""
    decimals, order, parameter = data[0], data[1] >> 6, data[1] & 0x3F
    count, at = varint(data, 2)
    residuals = []
    for _ in range(order):
        residual, at = varint(data, at)
        residuals.append(residual)
    bits = "".join(f"{byte:08b}" for byte in data[at:])
    at = 0
    for _ in range(count - order):
        ones = 0
        while ones < 16 and bits[at + ones] == "1":
            ones += 1
        # A Rice code: ones, a zero, and the lower bits. After sixteen ones the number itself follows, in 64 bits.
        at += ones + (ones < 16)
        width, upper = (64, 0) if ones == 16 else (parameter, ones << parameter)
        residuals.append(upper | int(bits[at : at + width] or "0", 2))
        at += width
    numbers = []
    for index, residual in enumerate(residuals):
        difference = residual >> 1 ^ -(residual & 1)
        # The difference of order 3 is x[i] - 3 x[i - 1] + 3 x[i - 2] - x[i - 3], and so on.
        for back, weight in enumerate([(), (1,), (2, -1), (3, -3, 1)][min(order, index)], 1):
            difference += weight * numbers[index - back]
        numbers.append(difference)
    return [number / 10**decimals for number in numbers] if decimals else numbers


def values(member):
    """Decodes a member of a batch."""
    if isinstance(member, bytes):
        return series(member)
    if isinstance(member, cbor2.CBORTag):
        # Little-endian float32 and float64 of RFC 8746.
        size, letter = {85: (4, "f"), 86: (8, "d")}[member.tag]
        return list(struct.unpack(f"<{len(member.value) // size}{letter}", member.value))
    return member


def read(payload):
    """Decodes a payload into the form of a JSON batch."""
    batch = {name: values(member) for name, member in cbor2.loads(payload).items()}
    head = {"v", "epoch", "seq", "live", "t", "dt"}
    count = next(len(value) for name, value in batch.items() if name not in head and isinstance(value, list))
    return {
        name: value if name in head or isinstance(value, list) else [value] * count for name, value in batch.items()
    }


def read_any(payload):
    """Decodes a payload in CBOR or JSON into the form of JSON. Throws a ValueError if it is neither, such as a text."""
    # A CBOR map begins with one of these bytes; a JSON object begins with a brace.
    return read(payload) if payload and 0xA0 <= payload[0] <= 0xBF else json.loads(payload)


def main():
    import paho.mqtt.client as mqtt

    def on_message(client, userdata, message):
        try:
            batch = read_any(message.payload)
        except ValueError:
            return  # Empty, or no batch, such as the text of a marker.
        print(message.topic, json.dumps(batch), flush=True)

    # Version 2 of paho-mqtt asks for the kind of its callbacks, which version 1 does not know.
    kind = getattr(mqtt, "CallbackAPIVersion", None)
    client = mqtt.Client(kind.VERSION2) if kind else mqtt.Client()
    client.on_message = on_message
    client.connect(sys.argv[1] if len(sys.argv) > 1 else "localhost", int(sys.argv[2]) if len(sys.argv) > 2 else 1883)
    client.subscribe("lockstep/#", 1)
    client.loop_forever()


if __name__ == "__main__":
    main()
