import * as format from "../../../Sources/LockstepServe/Page/assets/pure/format.js";
import { equal, test } from "./harness.js";

test("a number has a true minus sign and no negative zero", () => {
    equal(format.fixed(-1.27, 1), "−1.3");
    equal(format.fixed(-0.01, 1), "0.0");
    equal(format.fixed(null, 1), "–");
    equal(format.fixed(NaN), "–");
});

test("thousands are separated by thin spaces", () => {
    equal(format.whole(1234567), "1\u202f234\u202f567");
    equal(format.whole(-1234), "−1\u202f234");
    equal(format.whole(999), "999");
});

test("a compact count has at most five characters", () => {
    equal([0, 940, 999, 1000, 12_345, 999_960, 3_100_000].map(format.compact), ["0", "940", "999", "1.0k", "12.3k", "1.0M", "3.1M"]);
});

test("a duration has its two largest units", () => {
    equal([0.42, 12, 59.6, 245, 3600, 12_030, 1_051_200].map(format.duration), ["0.4 s", "12 s", "1 min 00 s", "4 min 05 s", "1 h 00 min", "3 h 21 min", "12 d 4 h"]);
    equal(format.duration(null), "–");
});

test("an age has one unit", () => {
    equal([-6, -5, 1.2, 44, 99.4, 100, 5399, 5400, 129_600].map(format.age), [format.UNKNOWN, "now", "now", "44 s", "99 s", "2 min", "90 min", "2 h", "2 d"]);
});

test("the samples of several streams have no rate in Hz", () => {
    equal([360, 1, 0.0167, null].map(format.sampleRate), ["360 samples/s", "1 samples/s", "1 samples/min", "–"]);
    equal([360, 0.0167, null].map(format.shortSampleRate), ["360/s", "1/min", "–"]);
});

test("a slow rate is given per minute", () => {
    equal([100.2, 99.96, 12.5, 1, 0.2, 0.0167, 0].map(format.rate), ["100 Hz", "100 Hz", "13 Hz", "1 Hz", "0.2 Hz", "1/min", "0 Hz"]);
});

test("positions have hemispheres", () => {
    equal(format.position(35.71499, -139.77414, 3), "35.715° N 139.774° W");
    equal(format.latitude(0, 0), "0°");
});

test("bytes have decimal units", () => {
    equal([0, 999, 1000, 28_450_816, 1.5e12].map(format.bytes), ["0 B", "999 B", "1.0 kB", "28.5 MB", "1.5 TB"]);
});

test("a time for machines is never an error", () => {
    equal(format.isoTime(1_700_000_000_123_456), "2023-11-14T22:13:20.123Z");
    equal(format.isoTime(9e18), "");
    equal(format.isoTime(NaN), "");
});

test("all times are in the zone that a person has chosen", () => {
    const time = Date.UTC(2026, 10, 27, 23, 59, 58, 250) * 1000;
    for (const isUTC of [false, true]) {
        format.useUTC(isUTC);
        equal(format.inputTime(format.inputText(time)), time - 250_000, "an input field and back");
        equal(format.inputText(format.midnight(time)).slice(11), "00:00:00");
    }
    equal([format.dateTime(time), format.timeOfDay(time, { millis: true }), format.nearTime(time, time + 2e6), format.zone(time)], ["27 Nov 2026, 23:59:58 UTC", "23:59:58.250", "27 Nov, 23:59:58", "UTC"]);
    equal([format.zoneOffset(time), format.midnight(time), format.inputText(time)], [0, Date.UTC(2026, 10, 27) * 1000, "2026-11-27T23:59:58"]);
    format.useUTC(false);
    equal(format.zoneOffset(time), -new Date(time / 1000).getTimezoneOffset() * 60e6);
});
