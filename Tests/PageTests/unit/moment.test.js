import { chunkOf, isWithin, lastAt, played, ringOf } from "../../../Sources/LockstepServe/Page/assets/pure/moment.js";
import { rangeEnd } from "../../../Sources/LockstepServe/Page/assets/pure/timeline.js";
import { SampleRing } from "../../../Sources/LockstepServe/Page/assets/pure/ring.js";
import { extended, selected, showing } from "../../../Sources/LockstepServe/Page/assets/pure/view.js";
import { check, equal, test } from "./harness.js";

const NOW = 1e15;

test("what is loaded around a moment lasts as long at each speed, as samples or as averages", () => {
    equal(chunkOf(NOW, 1), { from: NOW - 5e6, to: NOW + 20e6, every: null });
    equal(chunkOf(NOW, 0.1), chunkOf(NOW, 1));
    equal(chunkOf(NOW, 60), { from: NOW - 300e6, to: NOW + 1200e6, every: 1500 });
    equal(chunkOf(NOW, 5).every, 125);
});

test("playback goes on by the time that has passed, and ends at the present", () => {
    equal(played(NOW - 60e6, 16, 2, NOW), NOW - 60e6 + 32_000);
    equal(played(NOW - 60e6, 60_000, 1, NOW), NOW - 60e6 + 250_000, "not by the time in which the page was hidden");
    equal(played(NOW - 2.1e6, 250, 1, NOW), null);
});

test("samples of the server are a stream with its words", () => {
    const stream = ringOf({ kind: "samples", columns: ["x", "frame", "y"], rows: [[10, 1, "a", 2], [20, 3, "b", 4]] });
    equal([stream.columns, stream.ring.at(15), stream.words.get("frame")], [["x", "y"], [2, 3], { t: 20, value: "b" }]);
    equal(ringOf({ kind: "average", columns: ["x"], rows: [[10, 5, 1], [20, 5, 3]] }).ring.at(10), [1]);
    equal(ringOf({ kind: "samples", columns: ["x"], rows: [] }), null);
    check(isWithin(stream.ring, 10) && isWithin(stream.ring, 20) && !isWithin(stream.ring, 9) && !isWithin(new SampleRing(1, 4), 0));
});

test("the last of several times that is not after a moment", () => {
    const items = [10, 20, 30].map((t) => ({ t }));
    equal([9, 10, 25, 30, 99].map((time) => lastAt(items, time)), [-1, 0, 1, 2, 2]);
    equal(lastAt([], 5), -1);
});

test("a selection stays in the range, and arrow keys extend it", () => {
    const view = { live: false, from: 0, to: 1000 };
    equal(selected(view, 700, -50), { from: 0, to: 700 });
    equal(extended(view, null, 500, 1), { from: 500, to: 510 });
    equal(extended(view, { from: 500, to: 510 }, 0, 1), { from: 500, to: 520 });
    equal(extended(view, { from: 500, to: 520 }, 0, -1), { from: 500, to: 510 });
});

test("a range follows playback, and otherwise stands still", () => {
    const view = { live: false, from: 0, to: 1000 };
    equal(showing(view, 500), view);
    equal(showing(view, 1001), { live: false, from: 901, to: 1901 });
});

test("the range of states moves to a moment of the past, and stays while it contains the moment", () => {
    const [now, span] = [100_000, 6_000];
    equal([rangeEnd(null, span, null, now), rangeEnd(95_000, span, null, now), rangeEnd(null, span, 50_000, now)], [null, null, null]);
    equal([rangeEnd(50_000, span, null, now), rangeEnd(52_900, span, 53_000, now), rangeEnd(53_100, span, 53_000, now)], [53_000, 53_000, 56_100]);
    equal(rangeEnd(98_999 - span, span, null, now), 95_999);
});
