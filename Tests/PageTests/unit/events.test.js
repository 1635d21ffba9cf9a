import { badge, devicesOf, excess, filtered, grouped, isNews, keyOf, newestFirst, rulesOf, streamOf, unacknowledged } from "../../../Sources/LockstepServe/Page/assets/pure/events.js";
import { check, equal, test } from "./harness.js";

const NOW = 1e15;
const event = (change = {}) => ({ id: 1, rule: "hot", device: "lab/left", t: NOW - 2e6, at: NOW - 1e6, text: "too hot", late: false, severity: "warning", ...change });

test("an event is the same whatever number a collector gives it", () => {
    equal(keyOf(event()), keyOf(event({ id: 7, acknowledged: NOW })));
    const keys = [event(), event({ rule: "cold" }), event({ device: "lab/right" }), event({ device: null }), event({ t: NOW })].map(keyOf);
    equal(new Set(keys).size, keys.length);
});

test("events are ordered by the time that is shown, then by their detection and their number", () => {
    // A late one was detected last.
    const events = [event({ id: 1 }), event({ id: 3, at: NOW - 5e6 }), event({ id: 2 }), event({ id: 4, t: NOW - 3600e6, at: NOW, late: true })];
    equal(newestFirst(events).map(({ id }) => id), [2, 1, 3, 4]);
    equal(events.map(({ id }) => id), [1, 3, 2, 4], "the argument is not changed");
});

test("the stream of an event is the one that its rule watches", () => {
    const system = { collectors: [{ group: "yard", groups: ["yard"], rules: { hot: "x/soil" } }, { group: "lab", groups: null, rules: { hot: "x/air" } }, { group: "old", groups: null }] };
    equal([streamOf(event(), system), streamOf(event({ device: "yard/a" }), system), streamOf(event({ rule: "cold" }), system), streamOf(event(), null)], ["x/air", "x/soil", null, null]);
});

test("only events that nobody has acknowledged are counted", () => {
    equal(unacknowledged([event({ id: 1 }), event({ id: 2, acknowledged: NOW })]).map(({ id }) => id), [1]);
    equal([0, 99, 100].map(badge), ["0", "99", "99+"]);
});

test("old and acknowledged events are no news", () => {
    check(isNews(event(), NOW));
    check(!isNews(event({ acknowledged: NOW }), NOW));
    check(!isNews(event({ at: NOW - 61e6 }), NOW));
    check(isNews(event({ t: NOW - 3600e6, late: true }), NOW), "late samples are news when they arrive");
});

test("the oldest events beyond a number are removed", () => {
    const events = [event({ id: 2, at: NOW }), event({ id: 1, at: NOW - 3e6 }), event({ id: 9, at: NOW - 2e6 })];
    equal(excess(events, 3), []);
    equal(excess(events, 1).map(({ id }) => id), [9, 1]);
});

test("events are chosen by rule, device, severity and time", () => {
    const events = [event({ id: 1 }), event({ id: 2, rule: "cold", severity: "critical" }), event({ id: 3, device: null }), event({ id: 4, t: NOW - 7200e6 })];
    const ids = (filter) => filtered(events, { rule: "", device: "", severity: "", span: "", ...filter }, NOW).map(({ id }) => id);
    equal([ids({}), ids({ rule: "cold" }), ids({ device: "lab/left" }), ids({ span: "3600" }), ids({ severity: "critical" }), ids({ severity: "warning" })], [[1, 2, 3, 4], [2], [1, 2, 4], [1, 2, 3], [2], [1, 3, 4]]);
    equal([rulesOf(events), devicesOf(events)], [["cold", "hot"], ["lab/left"]]);
});

test("events of the same rule and device are a group, in the place of the newest", () => {
    const events = [event({ id: 1 }), event({ id: 2 }), event({ id: 3, device: null }), event({ id: 4 })];
    equal(grouped(events).map((group) => group.map(({ id }) => id)), [[1, 2, 4], [3]]);
    equal(grouped([]), []);
});
