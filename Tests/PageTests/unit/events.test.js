import { badge, excess, isNews, keyOf, newestFirst, unacknowledged } from "../../../Sources/LockstepServe/Page/assets/pure/events.js";
import { check, equal, test } from "./harness.js";

const NOW = 1e15;
const event = (change = {}) => ({ id: 1, rule: "hot", device: "lab/left", t: NOW - 2e6, at: NOW - 1e6, text: "too hot", late: false, ...change });

test("an event is the same whatever number a collector gives it", () => {
    equal(keyOf(event()), keyOf(event({ id: 7, acknowledged: NOW })));
    const keys = [event(), event({ rule: "cold" }), event({ device: "lab/right" }), event({ device: null }), event({ t: NOW })].map(keyOf);
    equal(new Set(keys).size, keys.length);
});

test("events are ordered by their detection, then by their number", () => {
    const events = [event({ id: 1 }), event({ id: 3, at: NOW - 5e6 }), event({ id: 2 })];
    equal(newestFirst(events).map(({ id }) => id), [2, 1, 3]);
    equal(events.map(({ id }) => id), [1, 3, 2], "the argument is not changed");
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
