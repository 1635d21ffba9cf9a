/**
 * How a phone is held, from its acceleration in g. The limits are those of Lockstep's agent: flat within 30°, no longer
 * flat beyond 40°, an edge within 35° of down, for 0.25 s; gravity is low-pass filtered at 0.5 Hz.
 */

const FLAT_ENTER = (30 * Math.PI) / 180;
const FLAT_LEAVE = (40 * Math.PI) / 180;
const EDGE = Math.cos((35 * Math.PI) / 180);
const DWELL = 250_000;
const TOLERANCE = 0.3;
const TIME_CONSTANT = 1e6 / (2 * Math.PI * 0.5);

/** @type {[string, number, number][]} the direction of gravity in the plane of the screen */
const EDGES = [["portrait", 0, -1], ["portraitUpsideDown", 0, 1], ["landscapeLeft", -1, 0], ["landscapeRight", 1, 0]];

export class Posture {
    /** @type {string|null} */
    value = null;
    /** @type {number[]|null} */
    #gravity = null;
    #time = 0;
    /** @type {{value: string, since: number}|null} */
    #candidate = null;

    /**
     * Returns the new value if this sample completes a change, else null.
     * @param {number} time µs @param {import("./axes.js").Vector} acceleration g
     */
    update(time, acceleration) {
        if (Math.abs(Math.hypot(...acceleration) - 1) > TOLERANCE) return null;
        const weight = this.#gravity ? 1 - Math.exp(-(time - this.#time) / TIME_CONSTANT) : 1;
        const before = this.#gravity ?? acceleration;
        this.#gravity = acceleration.map((value, i) => before[i] + weight * (value - before[i]));
        this.#time = time;
        const found = this.#unambiguous(this.#gravity);
        if (found === null || found === this.value) {
            this.#candidate = null;
            return null;
        }
        if (this.#candidate?.value !== found) {
            this.#candidate = { value: found, since: time };
            return null;
        }
        if (time - this.#candidate.since < DWELL) return null;
        this.#candidate = null;
        this.value = found;
        return found;
    }

    #unambiguous([x, y, z]) {
        const inPlane = Math.hypot(x, y);
        const face = z < 0 ? "faceUp" : "faceDown";
        if (Math.atan2(inPlane, Math.abs(z)) <= (this.value === face ? FLAT_LEAVE : FLAT_ENTER)) return face;
        return EDGES.find(([, ex, ey]) => ex * x + ey * y >= inPlane * EDGE)?.[0] ?? null;
    }
}
