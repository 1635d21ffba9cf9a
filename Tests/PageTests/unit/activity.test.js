import { activityChanges, visible, whileMeasured } from "../../../Sources/LockstepServe/Page/assets/pure/activity.js";
import { intervals } from "../../../Sources/LockstepServe/Page/assets/pure/timeline.js";
import { equal, test } from "./harness.js";

const brief = (list) => list.map(({ state, from, to, open }) => [state, from, to, open]);

test("an activity lasts from its start to the start of the next one", () => {
    const reply = { columns: ["start", "value", "confidence"], rows: [[9, 1, "walking", "medium"], [19, 1, "walking", "high"], [30, 22, "unknown", "low"], [48, 40, "cycling", "low"]] };
    const changes = activityChanges(reply);
    equal(changes.map(({ state, reason, since }) => [state, reason, since]), [["walking", "high confidence", 1], [null, "low confidence", 22], ["cycling", "low confidence", 40]]);
    equal(brief(intervals(changes, 10, 60)), [["walking", 10, 22, false], [null, 22, 40, false], ["cycling", 40, 60, true]]);
    equal(activityChanges({ columns: [], rows: [] }), []);
});

const state = (name, from, to, reason = null) => ({ state: name, reason, from, to, open: false });
const walkingUntil = (recognised) => intervals([{ state: "walking", previous: null, reason: "", since: 0, recognised }], 0, 100);

test("while a device measures nothing, its activity is not known, nor after that until it is recognised again", () => {
    const states = [state("active", 0, 30), state("inactive", 30, 40), state("background", 40, 90), state("terminated", 90, 100)];
    equal(brief(whileMeasured(walkingUntil(5), states)), [["walking", 0, 30, false], [null, 30, 100, true]]);
    equal(brief(whileMeasured(walkingUntil(50), states)), [["walking", 0, 30, false], [null, 30, 40, false], ["walking", 40, 90, false], [null, 90, 100, true]]);
    equal(brief(whileMeasured(walkingUntil(25), [state("terminated", 0, 20), state("active", 20, 100)])), [[null, 0, 20, false], ["walking", 20, 100, true]]);
    equal(brief(whileMeasured(walkingUntil(0), [state("terminated", 0, 20), state("active", 20, 100)])), [[null, 0, 100, true]]);
    equal(brief(whileMeasured(walkingUntil(5), [])), [["walking", 0, 100, true]]);
    // The same activity is another one after a restart.
    const changes = activityChanges({ columns: ["start", "value", "confidence"], rows: [[5, 0, "walking", "low"], [55, 50, "walking", "low"], [80, 70, "cycling", "low"]] });
    equal(brief(whileMeasured(intervals(changes, 0, 100), [state("active", 0, 20), state("terminated", 20, 40), state("active", 40, 100)])),
        [["walking", 0, 20, false], [null, 20, 50, false], ["walking", 50, 70, false], ["cycling", 70, 100, true]]);
});

test("while the connection is lost, only what was recognised then is known", () => {
    for (const reason of ["connection-lost", "silent"]) {
        const states = [state("active", 0, 30), state("background", 30, 60, reason), state("active", 60, 100)];
        equal(brief(whileMeasured(walkingUntil(5), states)), [["walking", 0, 30, false], [null, 30, 100, true]]);
        equal(brief(whileMeasured(walkingUntil(40), states)), [["walking", 0, 100, true]]);
        const changes = [{ state: "walking", previous: null, reason: "", since: 0, recognised: 9 }, { state: "cycling", previous: null, reason: "", since: 45, recognised: 55 }];
        equal(brief(whileMeasured(intervals(changes, 0, 100), states)), [["walking", 0, 30, false], [null, 30, 45, false], ["cycling", 45, 100, true]]);
    }
    equal(brief(whileMeasured(walkingUntil(5), [state("background", 30, 60, "background")])), [["walking", 0, 100, true]]);
});

const part = (state, from, to) => ({ state, reason: null, from, to, open: to === 100 });

test("a span that is too narrow is part of the one before", () => {
    equal(brief(visible([part("walking", 0, 50), part("running", 50, 51), part("walking", 51, 80), part("cycling", 80, 100)], 2)), [["walking", 0, 80, false], ["cycling", 80, 100, true]]);
});

test("spans that are too narrow are shown together, as the activity with the largest share", () => {
    const short = Array.from({ length: 12 }, (_, i) => part(i % 3 === 0 ? "walking" : "running", 10 + i, 11 + i));
    equal(brief(visible([part("stationary", 0, 10), ...short, part("stationary", 22, 99)], 3)), [["stationary", 0, 10, false], ["running", 10, 22, false], ["stationary", 22, 99, false]]);
    equal(brief(visible([part("walking", 0, 1), part("running", 1, 2), part("running", 2, 3), part("cycling", 3, 4)], 3)), [["running", 0, 4, false]]);
    // What is shown as another one is not ongoing.
    equal(brief(visible([part("stationary", 0, 99), part("walking", 99, 100)], 3)), [["stationary", 0, 100, false]]);
});

test("what is not known at the end is shown, however narrow it is", () => {
    equal(brief(visible([part("walking", 0, 98), part("running", 98, 99.5), part(null, 99.5, 100)], 3)), [["walking", 0, 99.5, false], [null, 99.5, 100, true]]);
});
