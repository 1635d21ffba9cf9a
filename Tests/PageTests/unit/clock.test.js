import { boundText, driftText, offsetText } from "../../../Sources/LockstepServe/Page/assets/pure/clock-texts.js";
import { equal, test } from "./harness.js";

test("an offset has as many decimals as its bound is worth", () => {
    equal(offsetText({ offset: null, offset_us: 3210, bound_us: 400 }), "3.21 ms ahead ± 0.40 ms");
    equal(offsetText({ offset: null, offset_us: -32_100, bound_us: 5000 }), "32.1 ms behind ± 5.0 ms");
    equal(offsetText({ offset: null, offset_us: 900_000, bound_us: 200_000 }), "900 ms ahead ± 200 ms");
});

test("an offset within its bound is 0", () => {
    equal(offsetText({ offset: null, offset_us: -100, bound_us: 120 }), "offset 0 ± 0.12 ms");
});

test("without a comparison, the arrival of samples tells what is known", () => {
    equal(offsetText({ offset: -1_020_000, offset_us: null, bound_us: null }), "samples arrive 1020 ms after their time");
    equal(offsetText({ offset: 2500 }), "ahead by at least 2.5 ms");
    equal([offsetText(null), offsetText({ offset: null })], ["not measured", "not measured"]);
});

test("the largest error of a time has three digits at most, and an unknown one a text", () => {
    equal([120, 4560, 123_456, 25e6].map(boundText), ["± 0.12 ms", "± 4.6 ms", "± 123 ms", "± 25 s"]);
    equal(boundText(NaN), "clock not compared");
});

test("a drift has its sign and the age of its measurement", () => {
    equal(driftText({ offset: null, drift_ppm: 12.34, age_s: 44 }), "+12.3 ppm, measured 44 s ago");
    equal(driftText({ offset: null, drift_ppm: -0.5, age_s: 1 }), "−0.5 ppm, measured now");
    equal(driftText({ offset: null, drift_ppm: null, age_s: null }), "–");
});
