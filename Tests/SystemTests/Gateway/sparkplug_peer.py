"""Edge nodes and host applications of Sparkplug B for the tests of the gateway, by the package pysparkplug.

  sparkplug_peer.py edge COMMANDS PORT GROUP NODE  an edge node with the device "oven"
  sparkplug_peer.py host COMMANDS PORT             prints each message as a line of JSON

Each line that is appended to the file COMMANDS is a command.
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(sys.prefix, "sparkplug"))

import pysparkplug as psp  # noqa: E402


def metric(name, kind, value, **more):
    return psp.Metric(timestamp=more.pop("time", None) or psp.get_current_timestamp(), name=name, datatype=kind,
                      value=value, **more)


def commands(path):
    with open(path, encoding="utf-8") as file:
        while True:
            line = file.readline()
            if line.endswith("\n"):
                yield line
            else:
                time.sleep(0.05)


def edge(path, port, group, node):
    """Commands: "temperature VALUE TIME", "skip", "deregister"."""
    def command(_, message):
        names = [item.name for item in message.payload.metrics if item.value is True]
        if "Node Control/Rebirth" in names:
            print("rebirth requested", flush=True)

    plant = psp.EdgeNode(group, node, [metric("Node Control/Rebirth", psp.DataType.BOOLEAN, False)],
                         cmd_callback=command)
    oven = psp.Device("oven", [
        metric("Temperature", psp.DataType.FLOAT, 20.5, alias=7),
        metric("Offset", psp.DataType.INT16, -3, alias=8),
        metric("Door", psp.DataType.BOOLEAN, True, alias=9),
        metric("Label", psp.DataType.STRING, "north", alias=10),
        metric("Nothing", psp.DataType.DOUBLE, None, is_null=True, alias=11),
    ])
    plant.register(oven)
    plant.connect("127.0.0.1", port=port)
    print("edge node started", flush=True)
    for line in commands(path):
        words = line.split()
        if words[0] == "temperature":
            plant.update_device("oven", [
                metric("Temperature", psp.DataType.FLOAT, float(words[1]), alias=7, time=int(words[2]))])
        elif words[0] == "skip":
            next(plant._EdgeNode__seq_cycler)
        elif words[0] == "deregister":
            plant.deregister("oven")
        print("done " + line.strip(), flush=True)


def host(path, port):
    """Commands: "rebirth GROUP NODE"."""
    client = psp.Client()

    def show(_, message):
        payload = message.payload
        metrics = [] if isinstance(payload, psp.State) else list(getattr(payload, "metrics", ()))
        if isinstance(payload, psp.NDeath):
            metrics = [payload.bd_seq_metric]
        print(json.dumps({
            "topic": str(message.topic), "type": str(message.topic.message_type), "qos": int(message.qos),
            "seq": getattr(payload, "seq", None), "device": message.topic.device_id,
            "metrics": [{
                "name": item.name, "alias": item.alias, "type": item.datatype.name, "time": item.timestamp,
                "number": item.value if isinstance(item.value, (int, float)) else None,
                "text": item.value if isinstance(item.value, str) else None,
                "null": item.is_null, "historical": item.is_historical,
            } for item in metrics],
        }), flush=True)

    for kind in ("NBIRTH", "NDATA", "NDEATH", "DBIRTH", "DDATA", "DDEATH"):
        device = "+" if kind.startswith("D") else None
        client.subscribe(
            psp.Topic(message_type=psp.MessageType(kind), group_id="+", edge_node_id="+", device_id=device),
            psp.QoS.AT_LEAST_ONCE, show)
    client.connect("127.0.0.1", port=port)
    print("host application started", flush=True)
    for line in commands(path):
        words = line.split()
        if words[0] == "rebirth":
            client.publish(psp.Message(
                topic=psp.Topic(message_type=psp.MessageType.NCMD, group_id=words[1], edge_node_id=words[2]),
                payload=psp.NCmd(timestamp=psp.get_current_timestamp(), metrics=(
                    metric("Node Control/Rebirth", psp.DataType.BOOLEAN, True),)),
                qos=psp.QoS.AT_MOST_ONCE, retain=False), include_dtypes=True)
        print("done " + line.strip(), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "edge":
        edge(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])
    elif sys.argv[1] == "host":
        host(sys.argv[2], int(sys.argv[3]))
