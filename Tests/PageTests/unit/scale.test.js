import { boundOf, gapsOf, meansOf, rowAt, seriesOf, sourceText, extentOf, lowerBound } from "../../../Sources/LockstepServe/Page/assets/pure/envelope.js";
import { steadyRange, ticks, timeTicks, roundLength } from "../../../Sources/LockstepServe/Page/assets/pure/scale.js";
import { followed, limited, liveView, panned, recentView, zoomed, LEAST_SPAN } from "../../../Sources/LockstepServe/Page/assets/pure/view.js";
import { check, equal, near, test } from "./harness.js";

test("ticks are round and within the limits", () => {
    equal(ticks(-1.3, 1.2, 5).ticks.map((t) => Number(t.toFixed(6))), [-1, -0.5, 0, 0.5, 1]);
    equal(ticks(0, 10, 4).step, 2.5);
    equal(ticks(0, 10, 4).decimals, 1);
    equal(ticks(3, 3, 4).ticks, [3]);
});

test("time ticks are at whole local minutes", () => {
    const from = Date.UTC(2026, 10, 25, 3, 7, 12) * 1000;
    const result = timeTicks(from, from + 600e6, 5);
    equal(result.step, 120e6);
    check(result.ticks.every((t) => t % 120e6 === 0 && t >= from && t <= from + 600e6));
    const shifted = timeTicks(from, from + 86400e6, 4, 5.5 * 3600e6);
    check(shifted.ticks.every((t) => (t + 5.5 * 3600e6) % 21600e6 === 0));
});

test("a value axis keeps still while the data fit, and grows at once", () => {
    const first = steadyRange(null, -1, 1);
    check(first.low <= -1 && first.high >= 1);
    equal(steadyRange(first, -0.9, 0.8), first);
    const grown = steadyRange(first, -1, 3);
    check(grown.high >= 3);
    const shrunk = steadyRange(grown, 0, 0.1);
    check(shrunk.high - shrunk.low < 1);
    equal(steadyRange(first, Infinity, -Infinity), first);
});

test("a scale of a map has a round length", () => {
    equal([940, 499, 199, 7].map(roundLength), [500, 200, 100, 5]);
});

test("zooming keeps the time under the pointer in its place", () => {
    const view = recentView(1e15, 100e6);
    const next = zoomed(view, 0.5, 1e15 - 75e6, 1e15);
    near((1e15 - 75e6 - next.from) / (next.to - next.from), 0.25);
    equal(next.to - next.from, 50e6);
    equal(next.live, false);
    near(zoomed(view, 1e-9, 1e15 - 1e6, 1e15).to - zoomed(view, 1e-9, 1e15 - 1e6, 1e15).from, LEAST_SPAN, 1);
});

test("panning stops shortly after now", () => {
    const view = panned(liveView(1e15), 5, 1e15);
    equal(view.to, 1e15 + 3e6);
    equal(view.to - view.from, 30e6);
    equal(limited({ live: false, from: -5, to: 10 }, 1e15).from, 0);
});

test("the bounds of times on the collector's clock are no curve, and the largest one in view is shown", () => {
    const envelope = seriesOf({ kind: "envelope", step: 0, columns: ["x", "frame", "bound_us"], units: ["g", "", "µs"], from: 0, to: 3000, rows: [[0, 2, -1, 1, 50], [1000, 2, 0, 4, 70], [2000, 1, 0, 1, 60]] });
    equal([envelope.columns, [...envelope.high[0]], [...envelope.bounds]], [["x"], [1, 4, 1], [50, 70, 60]]);
    equal([boundOf(envelope, 0, 3000), boundOf(envelope, 1500, 3000), boundOf(envelope, 5000, 6000)], [70, 60, null]);
    const samples = seriesOf({ kind: "samples", step: null, columns: ["lat", "bound_us"], units: ["°", "µs"], from: 0, to: 3000, rows: [[0, 52, 50], [1000, 53, null]] });
    equal([samples.columns, [...samples.low[0]]], [["lat"], [52, 53]]);
    equal(Number.isNaN(boundOf(samples, 0, 3000)), true);
    equal(boundOf(seriesOf({ kind: "samples", step: null, columns: ["x"], units: ["g"], from: 0, to: 1, rows: [[0, 1]] }), 0, 1), null);
});

test("a plot tells which of its curves were computed from summaries", () => {
    const of = (source) => seriesOf({ kind: "envelope", step: 60e6, columns: ["x"], units: ["g"], from: 0, to: 60e6, rows: [[0, 2, -1, 1]], source });
    equal([of("summaries").source, of(undefined).source], ["summaries", "samples"]);
    equal(sourceText([]), "");
    equal(sourceText([of("samples"), of("samples")]), "");
    equal(sourceText([of("summaries"), of("summaries")]), "from summaries");
    equal([sourceText([of("both")]), sourceText([of("samples"), of("summaries")])], ["partly from summaries", "partly from summaries"]);
});

test("a reply with an envelope becomes curves, without columns of words", () => {
    const series = seriesOf({ kind: "envelope", step: 1000, columns: ["x", "frame"], units: ["g", ""], from: 0, to: 3000, rows: [[0, 2, -1, 1], [1000, 2, 0, null]] });
    equal(series.columns, ["x"]);
    equal([...series.times], [500, 1500]);
    equal([...series.low[0]], [-1, 0]);
    equal(series.high[0][0], 1);
    check(Number.isNaN(series.high[0][1]));
});

test("a reply with samples becomes lines, and words are left out", () => {
    const series = seriesOf({ kind: "samples", step: null, columns: ["level", "state"], units: ["", ""], from: 0, to: 9, rows: [[1, 0.5, "full"], [2, null, "full"]] });
    equal(series.columns, ["level"]);
    check(series.low === series.high && Number.isNaN(series.low[0][1]));
});

const samplesAt = (times) => seriesOf({ kind: "samples", step: null, columns: ["x"], units: ["g"], from: 0, to: 1, rows: times.map((t) => [t, 1]) });

test("rows further apart than those around them are a gap, also at both ends", () => {
    const series = samplesAt([10, 11, 12, 20, 21].map((t) => t * 1e6));
    equal(gapsOf(series, 5e6, 30e6), [{ from: 5e6, to: 10e6 }, { from: 12e6, to: 20e6 }, { from: 21e6, to: 30e6 }]);
    equal(gapsOf(series, 11.5e6, 21e6), [{ from: 12e6, to: 20e6 }]);
    equal(gapsOf(series, 14e6, 15e6), [{ from: 12e6, to: 20e6 }]);
    equal(gapsOf(samplesAt([]), 0, 5e6), [{ from: 0, to: 5e6 }]);
});

test("history at another rate has no gaps: each is judged by the rate of its time", () => {
    // An hour at 1 Hz, a minute without, then 100 Hz.
    const slow = Array.from({ length: 60 }, (_, i) => i * 1e6);
    const fast = Array.from({ length: 500 }, (_, i) => 120e6 + i * 10_000);
    equal(gapsOf(samplesAt([...slow, ...fast]), 0, fast.at(-1)), [{ from: 59e6, to: 120e6 }]);
    // The change itself is none.
    const directly = fast.map((t) => t - 60e6);
    equal(gapsOf(samplesAt([...slow, ...directly]), 0, directly.at(-1)), []);
    equal(gapsOf(samplesAt([...directly, ...slow.map((t) => t + 66e6)]), 60e6, 120e6), []);
    // Half a second is one at 100 Hz.
    equal(gapsOf(samplesAt([...fast, ...fast.map((t) => t + 5.5e6)]), 120e6, 130e6), [{ from: 124_990_000, to: 125_500_000 }]);
});

test("buckets that are empty because samples are as far apart are no gaps", () => {
    const rows = [0, 60, 120, 240, 300, 360, 480, 540].map((s) => [s * 1e6, 1, 0, 1]);
    const series = seriesOf({ kind: "envelope", step: 60e6, columns: ["x"], units: ["g"], from: 0, to: 600e6, rows });
    equal(gapsOf(series, 0, 570e6), []);
});

test("a bucket under the cursor is what was measured in it: its range, its mean and the number of samples", () => {
    const series = seriesOf({ kind: "envelope", step: 10e6, columns: ["x"], units: ["g"], from: 0, to: 30e6, rows: [[0, 100, -0.3, 0.4], [10e6, 101, -0.2, 9], [20e6, 1, 0.5, 0.5]] });
    const i = rowAt(series, 12e6, 0);
    equal([i, series.low[0][i].toFixed(1), series.high[0][i], series.counts[i]], [1, "-0.2", 9, 101]);
    equal([rowAt(series, 9.9e6, 0), rowAt(series, 29e6, 0), rowAt(series, 31e6, 0), rowAt(series, 31e6, 7e6)], [0, 2, -1, 2]);
    equal(samplesAt([1, 2]).counts, null);
    // Parts of a bucket count by their samples; columns without means are left out.
    equal(meansOf({ columns: ["x", "word"], rows: [[0, 3, 1, null], [5, 1, 5, null]] }), { x: 2 });
});

test("a range follows the time until it is moved", () => {
    const view = recentView(1e15, 300e6);
    equal(followed(view, 1e15 + 100_000), view);
    equal(followed(view, 1e15 + 60e6), recentView(1e15 + 60e6, 300e6));
    const moved = panned(view, -0.1, 1e15);
    equal([moved.follows, followed(moved, 1e15 + 60e6) === moved], [undefined, true]);
    equal(zoomed(view, 0.5, 1e15 - 1e6, 1e15).follows, undefined);
});

test("the extent covers only shown columns in the time range", () => {
    const series = { times: [0, 1, 2], low: [[-5, 0, 1], [-9, -9, -9]], high: [[5, 2, 3], [9, 9, 9]], columns: [], units: [], step: null, from: 0, to: 2 };
    equal(extentOf(series, 1, 2, [true, false]), { low: 0, high: 3 });
    equal(extentOf(series, 7, 9, [true, true]), null);
    equal(lowerBound([1, 3, 5], 3), 1);
});
