import { eventsOf, qualityText, sentence } from "../../../Sources/LockstepServe/Page/assets/pure/calibration.js";
import { equal, test } from "./harness.js";

test("the quality of a calibration is the error at rest, before and after", () => {
    const calibration = { t: 1e15, positions: 9, error_before: 0.04321, error_after: 0.0012 };
    equal(qualityText(calibration), "At rest, |a| differs from 1 g by 1.2 mg, without the calibration by 43.2 mg, in 9 positions.");
    equal(qualityText({ ...calibration, positions: 6 }), "At rest, |a| differs from 1 g by 1.2 mg, without the calibration by 43.2 mg, in 6 positions; no tilted position has checked it.");
});

test("a sentence has one full stop, or none while something goes on", () => {
    equal(["at rest", "The server does not answer.", "Asking …"].map(sentence), ["At rest.", "The server does not answer.", "Asking …"]);
});

test("events are taken from a text when they are complete", () => {
    equal(eventsOf('event: step\ndata: {"still":true}\n\nevent: keep-alive\ndata: {}\n\nevent: res'), {
        events: [{ name: "step", data: { still: true } }, { name: "keep-alive", data: {} }], rest: "event: res" });
    equal(eventsOf('event: end\ndata: {"reason":"it \\n ended"}\n'), { events: [], rest: 'event: end\ndata: {"reason":"it \\n ended"}\n' });
    equal(eventsOf(""), { events: [], rest: "" });
});
