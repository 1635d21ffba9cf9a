import { gapsOf, labelChanges, labelsOf, labelsText, progressText, sessionRange, streamsOf } from "../../../Sources/LockstepServe/Page/assets/pure/recording.js";
import { parseRoute } from "../../../Sources/LockstepServe/Page/assets/core/router.js";
import { equal, test } from "./harness.js";

const NOW = 1e15;
const session = (more) => ({ group: "lab", id: "walk-3", name: "walk 3", state: "recording", created: NOW - 20e6, rates: {}, labels: {}, within_s: 30, devices: [], marker_count: 0, markers: [], ...more });

test("labels are typed as KEY=VALUE, and a value may contain the sign", () => {
    equal(labelsOf("subject=7,  shoes = new "), { subject: "7", shoes: "new" });
    equal(labelsOf("sum=a=b"), { sum: "a=b" });
    equal(labelsOf(""), {});
    equal(labelsOf("subject"), null);
    equal(labelsText({ subject: "7", shoes: "new" }), "subject=7, shoes=new");
    equal(labelChanges({ subject: "7", shoes: "new" }, { subject: "8" }), { subject: "8", shoes: null });
});

test("the text of a session counts down to what comes next", () => {
    const devices = [{ device: "a" }, { device: "b", problem: "does not answer" }];
    equal(progressText(session({ state: "preparing", devices }), NOW), "1 of 2 devices ready, starts at the latest in 10 s");
    equal(progressText(session({ state: "armed", start: NOW + 800_000 }), NOW), "Starts in 0.8 s");
    equal(progressText(session({ start: NOW - 12e6 }), NOW), "For 12 s");
    equal(progressText(session({ start: NOW - 12e6, for_s: 60 }), NOW), "For 12 s, stops in 48 s");
    equal(progressText(session({ state: "complete", start: NOW - 75e6, end: NOW }), NOW), "1 min 15 s");
});

test("a session shows its own range, and the streams that it asked for or else those that arrive", () => {
    equal(sessionRange(session({ start: NOW, end: NOW + 100e6 })), { live: false, from: NOW - 2e6, to: NOW + 102e6 });
    equal(sessionRange(session({ start: NOW })), null);
    equal(sessionRange(session({ start: NOW, end: NOW - 1 })), null, "it was stopped before its start");
    equal(streamsOf(session({ rates: { steps: 1 } }), [{ location: 1 }]), ["steps"]);
    equal(streamsOf(session({}), [{ steps: 1, location: 1 }, { location: 2 }]), ["location", "steps"]);
});

test("the address of a session has its group and id", () => {
    const { view, group, id } = parseRoute("#/sessions/lab/walk-3?at=5");
    equal([view, group, id], ["sessions", "lab", "walk-3"]);
    equal(parseRoute("#/sessions?search=subject%3D7").view, "sessions");
});

test("gaps of all streams are in order of time, with their device and stream", () => {
    const gap = (from) => ({ from, to: from + 5, count: 2 });
    const streams = [{ device: "a", stream: "steps", samples: 1, gaps: [gap(10), gap(30)] }, { device: "b", stream: "heading", samples: 0, gaps: [gap(20)] }, { device: "c", stream: "steps", samples: 9, gaps: [] }];
    equal(gapsOf(streams).map(({ device, stream, from, count }) => [device, stream, from, count]), [["a", "steps", 10, 2], ["b", "heading", 20, 2], ["a", "steps", 30, 2]]);
    const many = Array.from({ length: 201 }, (_, i) => gap(i));
    equal(gapsOf([{ device: "a", stream: "steps", gaps: many }]).length, 201);
});
