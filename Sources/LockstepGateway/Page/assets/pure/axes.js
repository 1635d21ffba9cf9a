/** Axes and units of a browser, converted to those of Lockstep. Pure functions. */

/** Standard gravity in m/s². */
export const GRAVITY = 9.80665;
const RADIANS = Math.PI / 180;

/** @typedef {[number, number, number]} Vector */

/** Rounds to `digits` decimals, which are finer than any sensor of a phone. Never −0. */
export function rounded(value, digits) {
    const scale = 10 ** digits;
    return Math.round(value * scale) / scale + 0;
}

/**
 * Returns the three components, or null if one of them is unknown.
 * @param {{x: number|null, y: number|null, z: number|null}|null|undefined} value
 * @returns {Vector|null}
 */
export function vector(value) {
    if (!value) return null;
    const { x, y, z } = value;
    return Number.isFinite(x) && Number.isFinite(y) && Number.isFinite(z) ? [/** @type {number} */ (x), /** @type {number} */ (y), /** @type {number} */ (z)] : null;
}

/** m/s² of a browser in g, (0, 0, −1) at rest face up. @param {Vector} value @param {1|-1} sign @returns {Vector} */
export function acceleration([x, y, z], sign) {
    const factor = sign / GRAVITY;
    return [rounded(x * factor, 6), rounded(y * factor, 6), rounded(z * factor, 6)];
}

/** °/s of a browser, whose alpha, beta and gamma are about x, y and z, in rad/s. @returns {Vector|null} */
export function rotationRate(value) {
    const rate = vector(value && { x: value.alpha, y: value.beta, z: value.gamma });
    return rate && [rounded(rate[0] * RADIANS, 6), rounded(rate[1] * RADIANS, 6), rounded(rate[2] * RADIANS, 6)];
}

/**
 * Returns the attitude (w, x, y, z), from device to reference frame, of the angles of a browser in degrees: turns about
 * z, the new x, and the new y.
 * @param {number} alpha @param {number} beta @param {number} gamma
 * @returns {[number, number, number, number]}
 */
export function attitude(alpha, beta, gamma) {
    const [ca, sa] = half(alpha);
    const [cb, sb] = half(beta);
    const [cg, sg] = half(gamma);
    return [ca * cb * cg - sa * sb * sg, ca * sb * cg - sa * cb * sg, ca * cb * sg + sa * sb * cg, ca * sb * sg + sa * cb * cg];
}

function half(degrees) {
    const angle = (degrees * RADIANS) / 2;
    return [Math.cos(angle), Math.sin(angle)];
}

/** Returns the upward direction in the device's axes. @param {number} beta @param {number} gamma @returns {Vector} */
export function upward(beta, gamma) {
    const [b, g] = [beta * RADIANS, gamma * RADIANS];
    return [-Math.cos(b) * Math.sin(g), Math.sin(b), Math.cos(b) * Math.cos(g)];
}

/**
 * Finds the signs of a browser's acceleration: −1 for those of the W3C, where a phone at rest is accelerated upwards, and
 * 1 for those of iOS. The orientation of the phone decides; without it, a default.
 */
export class Signs {
    /** @type {1|-1|null} null while it is not known */
    sign = null;
    #default;
    #samples = 0;

    /** @param {1|-1} fallback @param {number} limit samples after which the default is used */
    constructor(fallback, limit = 60) {
        this.#default = fallback;
        this.limit = limit;
    }

    /** @param {Vector} measured m/s², including gravity @param {Vector|null} up upward direction in the device's axes */
    observe(measured, up) {
        if (this.sign !== null) return;
        this.#samples += 1;
        const length = Math.hypot(...measured);
        if (up && Math.abs(length / GRAVITY - 1) < 0.2) {
            const along = (measured[0] * up[0] + measured[1] * up[1] + measured[2] * up[2]) / length;
            if (Math.abs(along) > 0.8) this.sign = along > 0 ? -1 : 1;
        }
        if (this.sign === null && this.#samples >= this.limit) this.sign = this.#default;
    }
}
