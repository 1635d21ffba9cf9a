/** A draft of an area that a rule may watch. Pure functions. */

/** @typedef {{name: string, corners: [number, number][], radius: number|null, when: string}} Draft latitudes and longitudes in degrees; a radius in m makes its only corner the centre of a circle */

const METRES_A_DEGREE = 111195;

/** Returns the draft as a part of a file of rules. @param {Draft} draft */
export function ruleText({ name, corners, radius, when }) {
    const points = corners.map((corner) => `[${corner.join(", ")}]`);
    const area = radius === null ? ["polygon:", ...points.map((point) => `  - ${point}`)] : [`center: ${points[0]}`, `radius: ${radius}`];
    return ["places:", `  ${name}:`, ...area.map((line) => `    ${line}`), "rules:", `  ${name}-${when}:`, `    when: {${when}: ${name}}`, ""].join("\n");
}

/** Returns the corners of a text with a latitude and a longitude in each line; null if it is none. @param {string} text @returns {[number, number][]|null} */
export function cornersOf(text) {
    const lines = text.split("\n").filter((line) => line.trim());
    const corners = lines.map((line) => /** @type {[number, number]} */ (line.trim().split(/[\s,;]+/).map((word) => (word ? Number(word) : NaN))));
    return corners.every(isPosition) ? corners : null;
}

/** @param {number[]} corner */
function isPosition(corner) {
    return corner.length === 2 && Math.abs(corner[0]) <= 90 && Math.abs(corner[1]) <= 180;
}

/** Whether it is an area. @param {Pick<Draft, "corners"|"radius">} draft */
export function isArea({ corners, radius }) {
    return corners.every(isPosition) && (radius === null ? corners.length >= 3 : corners.length === 1 && radius >= 1 && radius <= 1e6);
}

/** Returns the point of a circle east of its centre. @param {[number, number]} center @param {number} radius @returns {[number, number]} */
export function edgeOf([lat, lon], radius) {
    return [lat, lon + radius / METRES_A_DEGREE / Math.max(0.01, Math.cos((lat * Math.PI) / 180))];
}

/** Returns a position with decimals that stand for 0.1 m. @param {{lat: number, lng: number}} place of a map, which counts on after a turn around the earth @returns {[number, number]} */
export function cornerOf({ lat, lng }) {
    const lon = lng - 360 * Math.round(lng / 360);
    return [Number(lat.toFixed(6)), Number(lon.toFixed(6))];
}
