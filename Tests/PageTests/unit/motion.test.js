import { arrived, advance, playhead, startPlayout } from "../../../Sources/LockstepServe/Page/assets/pure/playout.js";
import { eulerAngles, levelOf, normalized, rotate, slerp } from "../../../Sources/LockstepServe/Page/assets/pure/quaternion.js";
import { SampleRing } from "../../../Sources/LockstepServe/Page/assets/pure/ring.js";
import { project, slab, visibleFaces } from "../../../Sources/LockstepServe/Page/assets/pure/solid.js";
import { nearestTurn, springStep } from "../../../Sources/LockstepServe/Page/assets/pure/spring.js";
import { check, equal, near, test } from "./harness.js";

const about = (axis, degrees) => {
    const half = (degrees * Math.PI) / 360;
    return [Math.cos(half), ...axis.map((value) => value * Math.sin(half))];
};

test("roll, pitch and yaw are rotations about y, x and z", () => {
    near(eulerAngles(about([0, 1, 0], 30)).roll, 30, 1e-6);
    near(eulerAngles(about([1, 0, 0], -20)).pitch, -20, 1e-6);
    near(eulerAngles(about([0, 0, 1], 75)).yaw, 75, 1e-6);
    rotate(about([0, 0, 1], 90), [1, 0, 0]).forEach((value, i) => near(value, [0, 1, 0][i]));
});

test("a device that is turned clockwise has its right edge down", () => {
    near(levelOf([0, -1, 0]).turn, 0);
    near(levelOf([1, 0, 0]).turn, 90);
    near(levelOf([0, -1, 0]).tilt, 90);
    near(levelOf([0, 0, -1]).tilt, 0);
    near(levelOf([0, 0, 1]).tilt, 180);
    equal(levelOf([0, 0, 0]), null);
});

test("interpolated attitudes take the short way", () => {
    const a = about([0, 0, 1], 10);
    const b = about([0, 0, 1], 30).map((value) => -value);
    near(eulerAngles(slerp(a, b, 0.5)).yaw, 20, 1e-6);
    equal(normalized([0, 0, 0, 0]), null);
});

test("a critically damped spring reaches its target without overshoot", () => {
    let state = { value: 0, velocity: 0 };
    for (let i = 0; i < 300; i += 1) {
        state = springStep(state, 10, 1 / 60, { frequency: 2, damping: 1 });
        check(state.value <= 10 + 1e-9, "it overshoots");
    }
    near(state.value, 10, 0.01);
});

test("an underdamped spring overshoots and settles, whatever the time step", () => {
    let fine = { value: 0, velocity: 0 };
    let most = 0;
    for (let i = 0; i < 240; i += 1) {
        fine = springStep(fine, 1, 1 / 120, { frequency: 1.7, damping: 0.5 });
        most = Math.max(most, fine.value);
    }
    check(most > 1.05);
    const coarse = [...Array(8)].reduce((state) => springStep(state, 1, 1 / 4, { frequency: 1.7, damping: 0.5 }), { value: 0, velocity: 0 });
    near(coarse.value, fine.value, 1e-9);
    near(coarse.velocity, fine.velocity, 1e-9);
});

test("a dial turns the short way round", () => {
    equal(nearestTurn(350, 10), 370);
    equal(nearestTurn(-170, 170), -190);
    equal(nearestTurn(720, 5), 725);
});

test("the playback delay follows the arrivals and never jumps", () => {
    let playout = startPlayout();
    let drawn = null;
    for (let now = 1e9; now < 1e9 + 60e6; now += 16_000) {
        if (Math.floor(now / 1e6) !== Math.floor((now - 16_000) / 1e6)) playout = arrived(playout, Math.floor(now / 1e6) * 1e6 - 50_000, now);
        playout = advance(playout, now);
        const time = playhead(playout, now);
        if (drawn !== null && now > 1e9 + 20e6) {
            near(time - drawn, 16_000, 2000);
            check(time <= playout.newest, "it draws samples that are not there");
        }
        drawn = time;
    }
    check(playout.delay > 1_000_000 && playout.delay < 1_250_000, String(playout.delay));
});

test("a long pause does not change the delay", () => {
    let playout = arrived(startPlayout(), 1e6, 2e6);
    playout = arrived(playout, 60e6, 61e6);
    check(playout.wanted <= 1_150_000);
});

test("a ring keeps the newest samples in order", () => {
    const ring = new SampleRing(1, 16);
    for (let i = 0; i < 40; i += 1) check(ring.append(i * 10, [i]));
    equal(ring.append(390, [0]), false);
    equal([ring.start, ring.end, ring.newest], [24, 40, 390]);
    equal(ring.indexAt(301), 31);
    near(ring.at(305, 100)[0], 30.5);
    equal(ring.at(2000, 100), null);
    equal(new SampleRing(1, 16).at(1), null);
});

test("values within a gap are not interpolated", () => {
    const ring = new SampleRing(1, 16);
    ring.append(0, [0]);
    ring.append(10e6, [10]);
    equal(ring.at(5e6, 1e6), null);
});

test("a camera sees the front of a device that lies face up, and not its back", () => {
    const kinds = visibleFaces(slab(1, 2, 0.2, 0.2), [1, 0, 0, 0]).map(({ kind }) => kind);
    check(kinds.includes("front") && !kinds.includes("back"));
    const turned = visibleFaces(slab(1, 2, 0.2, 0.2), about([1, 0, 0], 180)).map(({ kind }) => kind);
    check(turned.includes("back") && !turned.includes("front"));
    check(project([0, 0, 1]).y < 0, "up is up");
    check(project([0, 1, 0]).depth > project([0, -1, 0]).depth, "north is far");
});
