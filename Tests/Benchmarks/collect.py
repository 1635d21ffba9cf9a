"""A simple collector in Python, for the benchmark ingest-small.

    collect.py PORT CLIENT-ID MESSAGES DATABASE normal|full

Subscribes, decodes JSON, inserts in groups of 500 messages, and acknowledges a group after its commit. The last
argument is SQLite's synchronous mode. Prints elapsed seconds and CPU seconds from the start to the last commit, and
the number of messages.
"""

import json
import sqlite3
import sys
import time

import paho.mqtt.client as mqtt

begin = time.monotonic()
port, client_id, wanted, path = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
database = sqlite3.connect(path, isolation_level=None)
database.execute("PRAGMA journal_mode = WAL")
database.execute(f"PRAGMA synchronous = {sys.argv[5]}")
for table in ("accelerometer", "gyroscope", "magnetometer"):
    database.execute(
        f"CREATE TABLE {table} (device TEXT, t INTEGER, x REAL, y REAL, z REAL, PRIMARY KEY (device, t)) WITHOUT ROWID"
    )
waiting, received = [], 0


def commit(client):
    rows = {}
    for message in waiting:
        parts = message.topic.split("/")
        sample = json.loads(message.payload)
        row = (parts[2], sample["t"], sample["x"][0], sample["y"][0], sample["z"][0])
        rows.setdefault(parts[-1], []).append(row)
    database.execute("BEGIN IMMEDIATE")
    for table, values in rows.items():
        database.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?, ?, ?)", values)
    database.execute("COMMIT")
    for message in waiting:
        client.ack(message.mid, message.qos)
    waiting.clear()


def on_message(client, _, message):
    global received
    waiting.append(message)
    received += 1
    if len(waiting) == 500 or received == wanted:
        commit(client)
    if received == wanted:
        print(f"{time.monotonic() - begin:f} {time.process_time():f} {received}", flush=True)
        client.disconnect()


client = mqtt.Client(
    mqtt.CallbackAPIVersion.VERSION2, client_id=client_id, protocol=mqtt.MQTTv5, manual_ack=True
)
client.on_message = on_message
properties = mqtt.Properties(mqtt.PacketTypes.CONNECT)
properties.SessionExpiryInterval = 3600
properties.ReceiveMaximum = 2000
client.connect("127.0.0.1", port, clean_start=False, properties=properties)
client.loop_forever()
