/** A device as a convex solid, and its projection to the screen. Pure functions. */

import { rotate } from "./quaternion.js";

/** @typedef {{points: [number, number, number][], normal: [number, number, number], kind: "front"|"back"|"side"|"bevel"}} Face */

/**
 * Returns the faces of a slab with cut corners, with the front up (+z) and the top edge towards +y.
 * @param {number} width @param {number} height @param {number} depth @param {number} corner
 * @returns {Face[]}
 */
export function slab(width, height, depth, corner) {
    const outline = [];
    const centres = [[1, 1, 0], [-1, 1, 90], [-1, -1, 180], [1, -1, 270]];
    for (const [sx, sy, start] of centres) {
        for (let k = 0; k <= 4; k += 1) {
            const angle = ((start + k * 22.5) * Math.PI) / 180;
            outline.push([sx * (width / 2 - corner) + corner * Math.cos(angle), sy * (height / 2 - corner) + corner * Math.sin(angle)]);
        }
    }
    const z = depth / 2;
    /** @type {Face[]} */
    const faces = [
        { points: outline.map(([x, y]) => [x, y, z]), normal: [0, 0, 1], kind: "front" },
        { points: [...outline].reverse().map(([x, y]) => [x, y, -z]), normal: [0, 0, -1], kind: "back" },
    ];
    outline.forEach(([x0, y0], i) => {
        const [x1, y1] = outline[(i + 1) % outline.length];
        const length = Math.hypot(x1 - x0, y1 - y0);
        if (length < 1e-9) return;
        faces.push({ points: [[x0, y0, -z], [x1, y1, -z], [x1, y1, z], [x0, y0, z]], normal: [(y1 - y0) / length, -(x1 - x0) / length, 0], kind: "side" });
    });
    return faces;
}

/** A camera that looks north and down at the origin, for a reference frame with x east, y north, z up. */
const ELEVATION = (24 * Math.PI) / 180;
const DISTANCE = 5.2;
const EYE = [0, -Math.cos(ELEVATION) * DISTANCE, Math.sin(ELEVATION) * DISTANCE];

/**
 * Returns the place of a point on the screen: x to the right, y down, and its depth; units of the screen are arbitrary.
 * @param {[number, number, number]} point in the reference frame
 */
export function project([x, y, z]) {
    const cos = Math.cos(ELEVATION);
    const sin = Math.sin(ELEVATION);
    const depth = DISTANCE + y * cos - z * sin;
    const up = y * sin + z * cos;
    const scale = DISTANCE / depth;
    return { x: x * scale, y: -up * scale, depth };
}

/**
 * Returns the faces that the camera sees, turned by an attitude, with the brightness of each.
 * @param {Face[]} faces @param {import("./quaternion.js").Quaternion} attitude
 */
export function visibleFaces(faces, attitude) {
    const light = [-0.35, -0.45, 0.82];
    const result = [];
    for (const face of faces) {
        const normal = rotate(attitude, face.normal);
        const points = face.points.map((point) => rotate(attitude, point));
        const toEye = EYE.map((value, i) => value - points[0][i]);
        if (normal[0] * toEye[0] + normal[1] * toEye[1] + normal[2] * toEye[2] <= 0) continue;
        const brightness = Math.max(0, normal[0] * light[0] + normal[1] * light[1] + normal[2] * light[2]);
        result.push({ kind: face.kind, brightness, points: points.map((point) => project(/** @type {any} */ (point))) });
    }
    return result;
}
