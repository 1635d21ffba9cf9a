/** Attitude: quaternions from device to reference frame, gravity and angles. Pure functions. */

/** @typedef {[number, number, number, number]} Quaternion w, x, y, z */
/** @typedef {[number, number, number]} Vector */

const DEGREES = 180 / Math.PI;

/** Returns a vector of the device frame in the reference frame. @param {Quaternion} q @param {Vector} v @returns {Vector} */
export function rotate([w, x, y, z], [a, b, c]) {
    const tx = 2 * (y * c - z * b);
    const ty = 2 * (z * a - x * c);
    const tz = 2 * (x * b - y * a);
    return [a + w * tx + y * tz - z * ty, b + w * ty + z * tx - x * tz, c + w * tz + x * ty - y * tx];
}

/** Returns the unit quaternion, or null for something that is none. @param {number[]} q @returns {Quaternion|null} */
export function normalized(q) {
    const length = Math.hypot(...q);
    return length > 0.1 && Number.isFinite(length) ? /** @type {Quaternion} */ (q.map((c) => c / length)) : null;
}

/** Returns a rotation between two others. @param {Quaternion} a @param {Quaternion} b @param {number} share 0 to 1 @returns {Quaternion} */
export function slerp(a, b, share) {
    let dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    const sign = dot < 0 ? -1 : 1;
    dot = Math.abs(dot);
    let s = 1 - share;
    let t = share;
    if (dot < 0.9995) {
        const angle = Math.acos(dot);
        s = Math.sin(s * angle) / Math.sin(angle);
        t = Math.sin(t * angle) / Math.sin(angle);
    }
    return normalized([0, 1, 2, 3].map((i) => s * a[i] + t * sign * b[i])) ?? b;
}

/**
 * Returns roll (about y), pitch (about x) and yaw (about z) in degrees. Yaw is counter-clockwise seen from above.
 * @param {Quaternion} q
 */
export function eulerAngles([w, x, y, z]) {
    const pitch = Math.asin(Math.max(-1, Math.min(1, 2 * (w * x + y * z))));
    const roll = Math.atan2(2 * (w * y - x * z), 1 - 2 * (x * x + y * y));
    const yaw = Math.atan2(2 * (w * z - x * y), 1 - 2 * (x * x + z * z));
    return { roll: roll * DEGREES, pitch: pitch * DEGREES, yaw: yaw * DEGREES };
}

/**
 * Returns how the device is held, from gravity in its frame. At rest face up gravity is (0, 0, −1); upright (0, −1, 0).
 * `turn`: degrees by which the device is turned clockwise in the plane of its face, seen by the person before it.
 * `tilt`: degrees between the z axis and the vertical: 0 face up, 90 upright, 180 face down.
 * @param {Vector} gravity
 */
export function levelOf([x, y, z]) {
    const length = Math.hypot(x, y, z);
    if (!(length > 0.05)) return null;
    const inPlane = Math.hypot(x, y) / length;
    return {
        turn: Math.atan2(x, -y) * DEGREES,
        tilt: Math.acos(Math.max(-1, Math.min(1, -z / length))) * DEGREES,
        inPlane,
        side: Math.asin(Math.max(-1, Math.min(1, x / length))) * DEGREES,
        forward: Math.asin(Math.max(-1, Math.min(1, y / length))) * DEGREES,
    };
}
