import { acceleration, attitude, rotationRate, Signs, upward, vector } from "../../../Sources/LockstepGateway/Page/assets/pure/axes.js";
import { Collection } from "../../../Sources/LockstepGateway/Page/assets/pure/collection.js";
import { EventClock } from "../../../Sources/LockstepGateway/Page/assets/pure/event-clock.js";
import { isID, randomID, settingsOf } from "../../../Sources/LockstepGateway/Page/assets/pure/identity.js";
import { Posture } from "../../../Sources/LockstepGateway/Page/assets/pure/posture.js";
import { qrCode } from "../../../Sources/LockstepGateway/Page/assets/pure/qr.js";
import { Rate } from "../../../Sources/LockstepGateway/Page/assets/pure/rate.js";
import { isObstacle, outcome, refusalText } from "../../../Sources/LockstepGateway/Page/assets/pure/reply.js";
import { statusOf } from "../../../Sources/LockstepGateway/Page/assets/pure/texts.js";
import { Queue } from "../../../Sources/LockstepGateway/Page/assets/queue.js";
import { sharedAddress } from "../../../Sources/LockstepGateway/Page/assets/share.js";
import { rotate } from "../../../Sources/LockstepServe/Page/assets/pure/quaternion.js";
import { check, equal, near, test } from "./harness.js";

test("at rest, face up, acceleration is (0, 0, −1) g with the signs of the W3C and of iOS", () => {
    equal(acceleration([0, 0, 9.80665], -1), [0, 0, -1]);
    equal(acceleration([0, 0, -9.80665], 1), [0, 0, -1]);
    check(!Object.is(acceleration([0, 0, 9.8], -1)[0], -0), "no negative zero");
});

test("the signs of a browser follow from the orientation of the phone", () => {
    for (const [beta, gamma] of [[0, 0], [90, 0], [10, 60], [-120, 20], [180, 0]]) {
        const up = upward(beta, gamma);
        const measured = up.map((value) => value * 9.81);
        const w3c = new Signs(1);
        w3c.observe(measured, up);
        equal(w3c.sign, -1);
        const ios = new Signs(-1);
        ios.observe(measured.map((value) => -value), up);
        equal(ios.sign, 1);
    }
});

test("without an orientation, or while the phone is shaken, the signs are the default after a second", () => {
    const signs = new Signs(-1, 60);
    for (let i = 0; i < 59; i += 1) signs.observe([0, 0, 25], [0, 0, 1]);
    equal(signs.sign, null);
    signs.observe([0, 0, -9.8], null);
    equal(signs.sign, -1);
});

test("the attitude of a browser's angles has the same gravity as the angles", () => {
    for (const [alpha, beta, gamma] of [[0, 0, 0], [30, 90, 0], [200, 45, -30], [77, -100, 80], [359, 170, 5]]) {
        const q = attitude(alpha, beta, gamma);
        near(Math.hypot(...q), 1, 1e-12);
        const gravity = rotate([q[0], -q[1], -q[2], -q[3]], [0, 0, -1]);
        upward(beta, gamma).forEach((value, i) => near(gravity[i], -value, 1e-9));
    }
});

test("alpha turns the attitude anticlockwise about the vertical", () => {
    const [w, x, y, z] = attitude(90, 0, 0);
    near(w, Math.SQRT1_2, 1e-12);
    near(z, Math.SQRT1_2, 1e-12);
    equal([x, y], [0, 0]);
});

test("rotation rates are in rad/s; unknown components make a vector unknown", () => {
    equal(rotationRate({ alpha: 180, beta: -90, gamma: 0 }), [3.141593, -1.570796, 0]);
    equal(rotationRate({ alpha: null, beta: 1, gamma: 1 }), null);
    equal(rotationRate(null), null);
    equal(vector({ x: 1, y: NaN, z: 1 }), null);
});

test("the posture changes after a quarter of a second, with hysteresis", () => {
    const posture = new Posture();
    let time = 0;
    const hold = (acceleration, seconds) => {
        const changes = [];
        for (const end = time + seconds * 1e6; time < end; time += 16_667) {
            const change = posture.update(time, acceleration);
            if (change) changes.push(change);
        }
        return changes;
    };
    equal(hold([0, 0, -1], 0.2), []);
    equal(hold([0, 0, -1], 0.2), ["faceUp"]);
    const tilted = (degrees) => [0, -Math.sin(degrees * Math.PI / 180), -Math.cos(degrees * Math.PI / 180)];
    equal(hold(tilted(38), 3), []);
    equal(hold(tilted(45), 3), ["portrait"]);
    equal(hold(tilted(35), 3), []);
    equal(hold([-1, 0, 0], 3), ["landscapeLeft"]);
    equal(hold([1, 0, 0], 4).at(-1), "landscapeRight");
    equal(hold([0, 0, 3], 3), []);
    equal(hold([0, 0, 1], 4).at(-1), "faceDown");
});

test("samples of a stream have rising times; a batch takes the oldest", () => {
    const collection = new Collection();
    collection.add("a", 10, [1]);
    collection.add("a", 10, [2]);
    collection.add("b", 5, [3]);
    equal(collection.take(2), [{ stream: "a", samples: [[10, 1], [11, 2]] }]);
    collection.add("a", 11, [4]);
    equal(collection.size, 2);
    equal(collection.take(), [{ stream: "b", samples: [[5, 3]] }, { stream: "a", samples: [[12, 4]] }]);
    equal(collection.take(), []);
});

test("samples that could not be written come back in order, and the oldest are dropped beyond the limit", () => {
    const collection = new Collection();
    for (let i = 0; i < 4; i += 1) collection.add("a", i, [i]);
    const taken = collection.take(3);
    equal(collection.restore(taken, 10), 0);
    equal(collection.size, 4);
    equal(collection.take(4)[0].samples.map(([time]) => time), [0, 1, 2, 3]);
    equal(collection.restore([{ stream: "a", samples: [[0, 0], [1, 1], [2, 2]] }], 2), 1);
    equal(collection.take()[0].samples, [[1, 1], [2, 2]]);
});

test("the clock follows the phone's clock only after a step", () => {
    const clock = new EventClock(1_000_000, 1000);
    equal(clock.microseconds(1001.5), 1_000_001_500);
    equal(clock.check(1_010_200, 11_000), false);
    equal(clock.microseconds(11_000), 1_010_000_000);
    equal(clock.check(1_080_000, 21_000), true);
    equal(clock.microseconds(21_000), 1_080_000_000);
});

test("a reply decides whether a batch is stored, refused, kept, or sent again", () => {
    equal(outcome(200, "", null, 0), { kind: "stored" });
    for (const status of [400, 413, 422]) equal(outcome(status, "no", null, 0), { kind: "refused", status, detail: "no" });
    for (const status of [401, 403, 409]) check(outcome(status, "", null, 0).kind === "stopped" && outcome(status, "", null, 0).detail);
    for (const status of [0, 404, 408, 429, 500, 503]) equal(outcome(status, "", null, 0).kind, "later");
    equal(outcome(503, "", "7", 0).delay, 7000);
    equal(outcome(503, "", "Wed, 21 Oct 2026 07:28:00 GMT", 0, 0.5).delay, 1000);
    equal([0, 1, 2, 9, 500].map((failures) => outcome(0, "", null, failures, 0.5).delay), [1000, 2000, 4000, 30_000, 30_000]);
});

test("a batch of an earlier name makes way, one of the present name waits for a decision", () => {
    const present = { group: "phones", device: "new" };
    const old = { group: "phones", device: "old" };
    for (const status of [403, 409]) {
        const result = outcome(status, "no", null, 0);
        check(isObstacle(result, old, present) && isObstacle(result, { ...present, group: "other" }, present) && !isObstacle(result, present, present));
    }
    check(!isObstacle(outcome(401, "", null, 0), old, present) && !isObstacle(outcome(503, "", null, 0), old, present));
    check(isObstacle(outcome(422, "", null, 0), present, present));
    equal(refusalText({ detail: "no" }, old, present), "no (taken as phones/old)");
    equal(refusalText({ detail: "no" }, present, present), "no");
});

test("the address fills in the form with valid names only", () => {
    equal(settingsOf("#device=my-phone&group=phones&token=a%2Bb"), { device: "my-phone", group: "phones", token: "a+b" });
    equal(settingsOf("#device=a%2Fb&group=&token=two%20words&x=1"), {});
    equal(settingsOf(""), {});
    check(isID("A.b_c-9") && !isID("") && !isID("a b") && !isID("x".repeat(65)));
    check(/^[0-9a-f]{16}$/.test(randomID()) && randomID() !== randomID());
});

test("the rate is that of the last three seconds", () => {
    const rate = new Rate();
    for (let i = 0; i <= 300; i += 1) rate.count(i * 10);
    near(rate.at(3000), 100, 0.01);
    equal(rate.at(7000), 0);
});

test("the status names the most important problem", () => {
    const fine = { sensors: { motion: "running", location: "denied" }, sender: "idle", problem: null, unwritten: null, dropped: 0, waiting: 0, isAwake: true };
    equal(statusOf(fine).title, "Measuring");
    equal(statusOf({ ...fine, waiting: 9, sender: "sending" }).title, "Catching up");
    const silent = { kind: "later", status: 0, detail: "x" };
    equal(statusOf({ ...fine, sender: "waiting", problem: silent }).title, "No connection to the gateway");
    equal(statusOf({ ...fine, sender: "sending", problem: silent }).title, "No connection to the gateway", "the next request has no reply yet");
    equal(statusOf({ ...fine, sender: "waiting", problem: { ...silent, status: 503 } }).title, "The gateway takes no samples now");
    equal(statusOf({ ...fine, sender: "stopped", problem: silent }).title, "Not sending");
    equal(statusOf({ ...fine, dropped: 3, sender: "stopped" }).title, "Samples cannot be stored");
    const none = statusOf({ ...fine, sensors: { motion: "absent", location: "absent" } });
    equal([none.kind, none.title], ["warn", "No sensor of this phone can be read"]);
    equal(none.text, "Motion: not available. Location: not available. Open this page on a phone with sensors.");
    const denied = statusOf({ ...fine, sensors: { motion: "absent", location: "denied" } });
    check(denied.text.endsWith("Allow this page to use the sensors in the settings of the browser."));
    const early = statusOf({ ...fine, sensors: { motion: "waiting", location: "searching" } });
    equal([early.kind, early.title], ["warn", "Waiting for the first samples"]);
});

test("a QR code is as large as its text needs, and has the patterns that readers look for", () => {
    equal(qrCode("a".repeat(14))?.length, 21);
    equal(qrCode("a".repeat(15))?.length, 25);
    equal(qrCode("a".repeat(666))?.length, 97);
    equal(qrCode("a".repeat(667)), null);
    const rows = qrCode("https://gateway.example:8443/join#device=my-phone");
    const finder = (x, y) => [0, 1, 2, 3, 4, 5, 6].map((i) => rows[y + 3][x + i]).join("");
    const end = rows.length - 7;
    equal([finder(0, 0), finder(end, 0), finder(0, end)], ["1011101", "1011101", "1011101"]);
    check(rows[6].every((value, x) => x < 8 || x >= rows.length - 8 || value === (x + 1) % 2), "the timing pattern");
});

test("the address for another phone has the name of the device only if it was chosen", () => {
    const values = { device: "my-phone", group: "phones", token: "a+b" };
    equal(sharedAddress("https://g", values, false), "https://g/join#group=phones&token=a%2Bb");
    equal(settingsOf(sharedAddress("https://g", values, true).split("/join")[1]), { device: "my-phone", group: "phones", token: "a+b" });
    equal(sharedAddress("https://g", { device: "", group: "", token: "" }, true), "https://g/join");
});

test("a batch that was read from a database that has been replaced is not removed from the new one", () => {
    const database = () => {
        const changes = [];
        const store = (name) => ({ add: () => changes.push(`add to ${name}`), delete: (key) => changes.push(`delete ${key}`) });
        return { changes, transaction: () => ({ objectStore: store }) };
    };
    const [old, present] = [database(), database()];
    const queue = new Queue(present);
    queue.remove({ key: 1, batch: {}, database: old });
    queue.refuse({ key: 1, batch: {}, database: old }, "why");
    equal([old.changes, present.changes], [[], []]);
    queue.remove({ key: 2, batch: {}, database: present });
    queue.refuse({ key: 3, batch: {}, database: present }, "why");
    equal(present.changes, ["delete 2", "add to refused", "delete 3"]);
});
