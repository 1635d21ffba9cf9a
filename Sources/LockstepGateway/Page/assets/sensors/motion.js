/** Acceleration, rotation rate, attitude and posture of the phone. */

import { acceleration, attitude, rotationRate, rounded, Signs, upward, vector } from "../pure/axes.js";
import { isApple } from "../pure/identity.js";
import { Posture } from "../pure/posture.js";

/** After a pause in motion of this length, in ms, an orientation of before the pause is no longer valid. */
const PAUSE = 1000;
/** Phones report motion at once; a browser without sensors does not. */
const FIRST_EVENT_TIMEOUT = 3000;

/** Asks for permission, where a browser wants that. Those of iOS refuse unless a tap is being handled. @returns {Promise<boolean>} */
export async function permitMotion() {
    if (!globalThis.DeviceMotionEvent?.requestPermission) return true;
    try {
        const replies = await Promise.all([DeviceMotionEvent.requestPermission(), globalThis.DeviceOrientationEvent?.requestPermission?.() ?? "granted"]);
        return replies.every((reply) => reply === "granted");
    } catch {
        return false;
    }
}

export class MotionSensor {
    /** @type {"off"|"waiting"|"running"|"denied"|"absent"} */
    status = "off";
    #add;
    #clock;
    #signs = new Signs(isApple() ? 1 : -1);
    #posture = new Posture();
    /** @type {{at: number, alpha: number, beta: number, gamma: number}|null} */
    #orientation = null;
    /** The time stamp of the last motion. */
    #last = 0;
    /** @type {any[]} events whose signs are not known yet */
    #pending = [];
    #timer = 0;

    /** @param {(stream: string, time: number, values: any[]) => void} add @param {import("../pure/event-clock.js").EventClock} clock */
    constructor(add, clock) {
        this.#add = add;
        this.#clock = clock;
    }

    start() {
        this.stop();
        if (!("DeviceMotionEvent" in globalThis)) {
            this.status = "absent";
            return;
        }
        this.status = "waiting";
        this.#orientation = null;
        this.#timer = setTimeout(() => { if (this.status === "waiting") this.status = "absent"; }, FIRST_EVENT_TIMEOUT);
        // A new run reports the posture again.
        this.#posture = new Posture();
        window.addEventListener("devicemotion", this.#onMotion);
        window.addEventListener("deviceorientation", this.#onOrientation);
    }

    stop() {
        clearTimeout(this.#timer);
        window.removeEventListener("devicemotion", this.#onMotion);
        window.removeEventListener("deviceorientation", this.#onOrientation);
        this.status = "off";
    }

    /** @param {DeviceOrientationEvent} event */
    #onOrientation = ({ alpha, beta, gamma, timeStamp }) => {
        if (alpha !== null && beta !== null && gamma !== null) this.#orientation = { at: timeStamp, alpha, beta, gamma };
    };

    /** @param {DeviceMotionEvent} event */
    #onMotion = (event) => {
        const measured = vector(event.accelerationIncludingGravity);
        const rate = rotationRate(event.rotationRate);
        // A browser without sensors sends one event without values.
        if (!measured && !rate) return;
        this.status = "running";
        // Browsers report an orientation only when it changes.
        if (event.timeStamp - this.#last > PAUSE && (this.#orientation?.at ?? 0) <= this.#last) this.#orientation = null;
        this.#last = event.timeStamp;
        const orientation = this.#orientation;
        const motion = { time: this.#clock.microseconds(event.timeStamp), measured, rate, orientation, user: vector(event.acceleration) };
        if (!measured) return this.#emit(motion, -1);
        this.#signs.observe(measured, orientation && upward(orientation.beta, orientation.gamma));
        this.#pending.push(motion);
        if (this.#signs.sign === null) return;
        for (const each of this.#pending.splice(0)) this.#emit(each, this.#signs.sign);
    };

    #emit({ time, measured, rate, orientation, user }, sign) {
        if (measured) {
            const total = acceleration(measured, sign);
            this.#add("motion/accelerometer", time, total);
            const posture = this.#posture.update(time, total);
            if (posture) this.#add("orientation", time, [posture]);
        }
        if (rate) this.#add("motion/gyroscope", time, rate);
        if (!orientation) return;
        const quaternion = attitude(orientation.alpha, orientation.beta, orientation.gamma).map((value) => rounded(value, 7));
        const gravity = upward(orientation.beta, orientation.gamma).map((value) => rounded(-value, 6));
        const unknown = [null, null, null];
        this.#add("motion/device", time, [...quaternion, ...gravity, ...(user ? acceleration(user, sign) : unknown), ...(rate ?? unknown), ...unknown, null, "arbitrary"]);
    }
}
