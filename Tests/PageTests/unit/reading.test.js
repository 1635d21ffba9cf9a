import { curlCommand, downloadAddress, fileName, formatsOf } from "../../../Sources/LockstepServe/Page/assets/pure/download.js";
import { changesOf, seriesOf } from "../../../Sources/LockstepServe/Page/assets/pure/envelope.js";
import { seriesIn, shownUnit } from "../../../Sources/LockstepServe/Page/assets/pure/imperial.js";
import { coveredBy, meanWithin, measuredText, statisticsOf, turn } from "../../../Sources/LockstepServe/Page/assets/pure/statistics.js";
import { paintSeries } from "../../../Sources/LockstepServe/Page/assets/plot/past-painter.js";
import { Course, headingOf, valuesOf } from "../../../Sources/LockstepServe/Page/assets/pure/streams.js";
import { outline } from "../../../Sources/LockstepServe/Page/assets/pure/world.js";
import { equal, near, test } from "./harness.js";

test("statistics of a selection are those of its samples", () => {
    const rows = [[0, 1, 5], [10, 2, 5], [20, 4, 5], [30, 9, 5]];
    const series = seriesOf({ kind: "samples", step: null, columns: ["x", "y"], units: ["g", "g"], rows, from: 0, to: 40 });
    const [x, ...others] = statisticsOf(series, 10, 30, [true, false]);
    equal(others, []);
    equal(x, { name: "x", unit: "g", count: 2, low: 2, high: 4, mean: 3, change: 2 });
    equal(statisticsOf(series, 11, 19, [true, true]), []);
});

test("of buckets, what was not measured is not known", () => {
    const series = seriesOf({ kind: "envelope", step: 10, columns: ["x"], units: ["g"], rows: [[0, 1, 0, 2], [10, 3, 4, 6]], from: 0, to: 20 });
    const [x] = statisticsOf(series, 0, 20, [true]);
    equal([x.low, x.high, x.count, x.mean, x.change], [0, 6, 4, null, null]);
    equal(coveredBy(series, 3, 18), { from: 0, to: 20 });
    equal(coveredBy(series, 6, 9), null);
    const single = seriesOf({ kind: "envelope", step: 10, columns: ["x"], units: ["g"], rows: [[0, 1, 2, 2], [10, 1, 6, 6]], from: 0, to: 20 });
    equal(statisticsOf(single, 0, 20, [true]), [{ name: "x", unit: "g", count: 2, low: 2, high: 6, mean: 4, change: 4 }]);
    equal(changesOf({ columns: ["x", "y"], rows: [[0, 1, null]] }, { columns: ["x", "y"], rows: [[8, 2, 3], [9, 5, 4]] }), { x: 4 });
});

test("the mean of the server fits extremes of less precision, and a sum does not", () => {
    const { low: [[low]], high: [[high]] } = seriesOf({ kind: "envelope", step: 10, columns: ["pressure"], units: ["hPa"], rows: [[0, 60, 1000.1, 1000.1]], from: 0, to: 10 });
    equal([low > 1000.09 && low !== 1000.1, meanWithin(1000.1, { low, high, count: 60 }) === low], [true, true]);
    equal([meanWithin(60_006, { low, high, count: 60 }), meanWithin(999, { low, high, count: 60 }), meanWithin(3, { low: 2, high: 5, count: 3 })], [null, null, 3]);
    const text = (bucket, mean) => measuredText(bucket, mean, 1, false);
    const bucket = { low: 2, high: 5, count: 4 };
    equal([text(bucket, 3), text(bucket, 9), text(bucket, undefined)], ["2.0 … 5.0, mean 3.0", "2.0 … 5.0", "2.0 … 5.0"]);
    equal(text({ low, high: Math.fround(1000.2), count: 100 }, 1000.12), "1000.1 … 1000.2, mean 1000.1");
    // Rain: 59 values of 0 and one of 0.2 are summed.
    const rain = { low: 0, high: Math.fround(0.2), count: 60 };
    equal([text(rain, 0.2), text(rain, 0.2 / 60), text({ ...rain, count: 2 }, 0.1)], ["0.0 … 0.2", "0.0 … 0.2, mean 0.0", "0.0 … 0.2, mean 0.1"]);
});

test("directions go through north", () => {
    const of = (kind, rows) => statisticsOf(seriesOf({ kind, step: kind === "envelope" ? 10 : null, columns: ["magnetic"], units: ["°"], rows, from: 0, to: 90 }), 0, 90, [true])[0];
    const samples = of("samples", [[0, 355], [10, 0], [20, 10], [30, 15]]);
    near(samples.mean, 5, 1e-4);
    equal([samples.low, samples.high, samples.change, samples.count], [355, 15, 20, 4]);
    equal(of("samples", [[0, 0], [10, 180]]).mean, null);
    const buckets = of("envelope", [[0, 5, 352, 358], [20, 5, 3, 8]]);
    equal([buckets.low, buckets.high, buckets.mean, buckets.change, buckets.count], [352, 8, null, null, 10]);
    // A device that turns around has the same buckets as one that points to the north.
    const unknown = of("envelope", [[0, 5, 352, 358], [10, 9, 1, 359], [20, 5, 3, 8]]);
    equal([unknown.low, unknown.high, unknown.mean, unknown.change, unknown.count], [1, 359, null, null, 19]);
    const around = of("samples", [[0, 0], [10, 100], [20, 200], [30, 300], [40, 40]]);
    equal([around.low, around.high], [0, 360]);
    equal(measuredText({ low: 0.3, high: 359.8, count: 9 }, 180, 1, true), "0.3 … 359.8");
    equal([turn(10, 350), turn(350, 10), turn(0, 90)], [-20, 20, 90]);
});

test("a bucket that goes through north does not fill the plot", () => {
    const series = seriesOf({ kind: "envelope", step: 10, columns: ["magnetic"], units: ["°"], rows: [[0, 5, 340, 350], [10, 9, 0.1, 359.9], [20, 5, 3, 8]], from: 0, to: 30 });
    const drawn = [];
    let path = [];
    const context = { beginPath() { path = []; }, lineTo: (x, y) => path.push(y), stroke: () => drawn.push(path), fill() {}, fillRect: (x, y, width, height) => drawn.push([y, y + height]) };
    const paint = (isCircular) => {
        drawn.length = 0;
        paintSeries(context, { x: 0, y: 0, width: 30, height: 360 }, series, { from: 0, to: 30 }, { low: 0, high: 360 }, [{ index: 0, colour: "red", isCircular }]);
        return drawn.map((ys) => Math.max(...ys) - Math.min(...ys));
    };
    equal([paint(true).length, Math.max(...paint(true)) < 20], [4, true]);
    equal(Math.max(...paint(false)) > 300, true);
});

test("positions have the formats of tracks, and other streams have not", () => {
    equal(formatsOf("steps").map(({ value }) => value), ["csv", "ndjson", "mcap"]);
    equal(formatsOf("location").map(({ value }) => value), ["csv", "ndjson", "mcap", "gpx", "geojson"]);
});

test("a download has an address, a name and a command", () => {
    const address = downloadAddress("http://host", "/devices/lab/left/streams/x/air", { from: 1.4, to: 2e6 }, "csv", true);
    equal(address, "http://host/api/v1/devices/lab/left/streams/x/air?from=1&to=2000000&format=csv&time=collector");
    const name = fileName({ device: "left", stream: "x/air" }, 1.7e15, "csv");
    equal(name, "left-air-2023-11-14T22-13-20Z.csv");
    equal(curlCommand(address, name, true), `curl --compressed -H 'Authorization: Bearer TOKEN' -o '${name}' '${address}'`);
});

test("the newest values of a stream have four digits and units, without times", () => {
    const stream = { columns: ["lat", "at", "state", "n", "x"], units: ["°", "µs since 1970", "–", "–", "g"], newest: { values: { lat: 51.123456, at: 5, state: "full", n: 12, x: -0.98765 } } };
    equal(valuesOf(stream).map(({ text, unit }) => `${text}${unit}`), ["51.12°", "full", "12", "−0.988g"]);
    const lengths = { columns: ["alt", "speed", "x"], units: ["m", "m/s", "g"], newest: { values: { alt: 30, speed: 10, x: 1 } } };
    equal(valuesOf(lengths, "imperial").map(({ text, unit }) => `${text} ${unit}`), ["98.43 ft", "22.37 mph", "1 g"]);
    equal(valuesOf({ ...stream, newest: null }).map(({ text }) => text), ["–", "–", "–", "–"]);
});

test("only a stream with a direction has a compass", () => {
    const heading = { columns: ["magnetic", "accuracy"], units: ["°", "°"], newest: { values: { magnetic: 359 } } };
    equal([headingOf(heading), headingOf({ ...heading, newest: null }), headingOf({ columns: ["x"], units: ["g"], newest: null })], [359, null, undefined]);
});

test("the course of a value moves on with the time, and what was before is filled in", () => {
    const course = new Course(4, 2);
    course.add(9, 1, 10);
    course.fill(6, 3);
    equal([...course.values].map((value) => (Number.isNaN(value) ? null : value)), [null, 3, 1, null]);
    course.add(13, 5, 13);
    equal([...course.values].map((value) => (Number.isNaN(value) ? null : value)), [3, 1, null, 5]);
    equal([...course.curve], [3, 1, 3, 5]);
});

test("an outline is read from its differences", () => {
    equal(outline([1050, 5200, -50, 25, 0, 0]), [[52, 10.5], [52.25, 10], [52.25, 10]]);
    equal(outline([]), []);
});

test("plots have imperial units by choice", () => {
    const series = seriesOf({ kind: "samples", step: null, columns: ["alt", "x"], units: ["m", "g"], rows: [[0, 0.3048, 1], [10, 3.048, 2]], from: 0, to: 20 });
    const shown = seriesIn(series, "imperial");
    equal([shown.units, [...shown.low[0]].map((value) => Math.round(value * 1000) / 1000), shown.low[1] === series.low[1]], [["ft", "g"], [1, 10], true]);
    equal([seriesIn(series, "metric") === series, shownUnit("g", "imperial")], [true, { unit: "g", factor: 1, offset: 0 }]);
    const air = seriesOf({ kind: "samples", step: null, columns: ["temperature", "pressure"], units: ["°C", "hPa"], rows: [[0, 20, 1013.25], [10, -40, 1000]], from: 0, to: 20 });
    const converted = seriesIn(air, "imperial");
    equal([converted.units, converted.low.map((values) => [...values].map((value) => Math.round(value * 100) / 100))], [["°F", "inHg"], [[68, -40], [29.92, 29.53]]]);
    equal(valuesOf({ columns: ["temperature"], units: ["°C"], newest: { values: { temperature: 20 } } }, "imperial"), [{ name: "temperature", unit: "°F", text: "68" }]);
});
