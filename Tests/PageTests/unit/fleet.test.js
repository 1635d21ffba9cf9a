import { columnsOf, lengthOf, timesOf } from "../../../Sources/LockstepServe/Page/assets/pure/batch.js";
import { isCircular, isTurn, plottable, shownAtFirst } from "../../../Sources/LockstepServe/Page/assets/pure/columns.js";
import { leaseRate, proposedRate, remaining } from "../../../Sources/LockstepServe/Page/assets/pure/lease.js";
import { problemsOf, severity } from "../../../Sources/LockstepServe/Page/assets/pure/problems.js";
import { countStates, select, sortedByName } from "../../../Sources/LockstepServe/Page/assets/pure/selection.js";
import { intervals, knownUntil, shares } from "../../../Sources/LockstepServe/Page/assets/pure/timeline.js";
import { rowForKey, scrollToRow, visibleRows } from "../../../Sources/LockstepServe/Page/assets/pure/windowing.js";
import { check, equal, near, test } from "./harness.js";

const NOW = 1e15;
const device = (change = {}) => ({ group: "lab", device: "left", state: "active", since: NOW - 60e6, previous: null, reason: "start", seq: 1, last_sample: NOW - 1e6, samples: 10, duplicates: 0, conflicts: 0, missing: 0, on_its_way: 0,
    dropped_batches: 0, dropped_samples: 0, rates: { "motion/accelerometer": 100 }, phase: "foreground", sources: null, battery: null, position: null, streams: ["motion/accelerometer"], ...change });
const entry = (change) => {
    const value = device(change);
    const problems = problemsOf(value, NOW);
    return { device: value, problems, severity: severity(problems) };
};

test("a device that sends has no problems", () => {
    equal(problemsOf(device(), NOW), []);
});

test("what is lost or missing is worse than what is about to happen", () => {
    const found = problemsOf(device({ missing: 1, battery: { level: 0.05, charging: false, t: NOW } }), NOW);
    equal(found.map(({ level, text }) => [level, text]), [[2, "1 batch missing"], [1, "Battery at 5 %"]]);
    equal(severity(problemsOf(device({ state: "background", reason: "silent", last_sample: NOW - 300e6 }), NOW)), 2);
    equal(problemsOf(device({ state: "background", reason: "command" }), NOW), []);
    equal(problemsOf(device({ last_sample: NOW - 20e6 }), NOW)[0].text, "No samples for 20 s");
    equal(problemsOf(device({ last_sample: NOW - 20e6, streams: ["battery"] }), NOW), []);
});

test("a sample with a time in the future does not hide how long a device is silent", () => {
    const silent = { state: "background", reason: "silent", since: NOW - 90e6 };
    equal(problemsOf(device({ ...silent, last_sample: NOW + 3600e6 }), NOW)[0].text, "Silent for 90 s");
    equal(problemsOf(device({ ...silent, since: NOW + 60e6, last_sample: NOW + 3600e6 }), NOW)[0].text, "Silent");
    equal(problemsOf(device({ ...silent, last_sample: NOW - 100e6 }), NOW)[0].text, "Silent for 2 min");
});

test("a charging battery and a stopped device are no problem", () => {
    equal(problemsOf(device({ battery: { level: 0.05, charging: true, t: NOW } }), NOW), []);
    equal(problemsOf(device({ state: "terminated", sources: { gpsd: "stopped" } }), NOW), []);
});

test("the fleet shows what is wrong first, and names in natural order", () => {
    const entries = sortedByName([entry({ device: "b10" }), entry({ device: "b9" }), entry({ device: "c", missing: 3 }), entry({ device: "a", state: "terminated" })]);
    const names = (filter) => select(entries, { search: "", group: "", state: "", sort: "problems", ...filter }).map((e) => e.device.device);
    equal(names({}), ["c", "b9", "b10", "a"]);
    equal(names({ sort: "name" }), ["a", "b9", "b10", "c"]);
    equal(names({ sort: "name", isReversed: true }), ["c", "b10", "b9", "a"]);
    equal(names({ isReversed: true }), ["a", "b10", "b9", "c"]);
    equal(names({ search: "LAB B1" }), ["b10"]);
    equal(names({ state: "terminated" }), ["a"]);
    equal(names({ state: "problems" }), ["c"]);
    equal(names({ group: "other" }), []);
    equal(countStates(entries).problems, 1);
});

test("a virtual list renders only what is in view", () => {
    equal(visibleRows({ count: 1000, rowHeight: 40, scrollTop: 4000, height: 400, overscan: 2 }), { first: 98, end: 112 });
    equal(visibleRows({ count: 3, rowHeight: 40, scrollTop: 0, height: 400 }), { first: 0, end: 3 });
    equal(visibleRows({ count: 0, rowHeight: 40, scrollTop: 0, height: 400 }), { first: 0, end: 0 });
    equal(scrollToRow({ index: 50, rowHeight: 40, scrollTop: 0, height: 400 }), 1640);
    equal(scrollToRow({ index: 2, rowHeight: 40, scrollTop: 0, height: 400 }), 0);
    equal(["ArrowDown", "End", "Home", "PageDown", "x"].map((key) => rowForKey(key, 5, 20, 8)), [6, 19, 0, 13, null]);
    equal(rowForKey("End", 0, 0, 8), null);
});

test("times of a batch follow from t and dt", () => {
    equal(timesOf({ t: 5, dt: 10 }, 3), [5, 15, 25]);
    equal(timesOf({ t: 5, dt: [1, 7] }, 3), [5, 6, 13]);
    equal(timesOf({ t: 5 }, 1), [5]);
    const batch = { v: 1, t: 1, group: "g", device: "d", stream: "s", x: [1, 2], note: "text" };
    equal([columnsOf(batch), lengthOf(batch)], [["x"], 2]);
});

test("intervals of states have no holes", () => {
    const list = intervals([{ state: "active", previous: null, reason: "start", since: 20 }, { state: "background", previous: "active", reason: "silent", since: 60 }], 0, 100);
    equal(list.map(({ state, from, to, open }) => [state, from, to, open]), [[null, 0, 20, false], ["active", 20, 60, false], ["background", 60, 100, true]]);
    near(shares(list).get("active"), 0.5);
    equal(intervals([{ state: "active", previous: "resumed", reason: "", since: 60 }], 50, 100)[0].state, "resumed");
    equal(intervals([], 0, 10).length, 1);
});

test("a state is not shown as the present one while nobody reports it", () => {
    const list = intervals([{ state: "active", previous: null, reason: "start", since: 20 }], 0, 100);
    equal(knownUntil(list, 100), list);
    equal(knownUntil(list, 70).map(({ state, from, to, open }) => [state, from, to, open]), [[null, 0, 20, false], ["active", 20, 70, false], [null, 70, 100, true]]);
    equal(knownUntil(list, 0).map(({ state, from, to }) => [state, from, to]), [[null, 0, 20], [null, 20, 100]]);
});

test("columns of words and of times are not plotted", () => {
    const columns = plottable({ stream: "location", columns: ["lat", "speed", "at"], units: ["°", "m/s", "µs since 1970"], newest: null });
    equal(columns.map(({ name }) => name), ["lat", "speed"]);
    equal(shownAtFirst("location", columns), ["speed"]);
    const own = plottable({ stream: "x/air", columns: ["co2", "humidity", "window"], units: ["ppm", "%", ""], newest: { values: { window: "open" } } });
    equal(shownAtFirst("x/air", own), ["co2"]);
});

test("the rest of a lease is counted down", () => {
    equal([remaining(300e6, 0), remaining(61e6, 0.5e6), remaining(3_725e6, 0), remaining(1, 5)], ["5:00", "1:01", "1:02:05", "0:00"]);
    check(remaining(0, 0) === "0:00");
});

test("the rate of a lease has words, and the proposed one fits the stream", () => {
    equal([leaseRate(50), leaseRate("source"), leaseRate(undefined)], ["50 Hz", "the rate of its source", "the rate of its source"]);
    equal([proposedRate("motion/accelerometer", 100), proposedRate("steps", 0.98765), proposedRate("steps", null), proposedRate("location", 1)], [200, 0.99, 1, 1]);
});

test("directions are connected through north", () => {
    equal([isCircular({ name: "magnetic", unit: "°" }), isCircular({ name: "accuracy", unit: "°" }), isCircular({ name: "lat", unit: "°" })], [true, false, false]);
    equal([isTurn(359, 1), isTurn(1, 359), isTurn(10, 170)], [true, true, false]);
});
