/** A draft of an area that a rule may watch. Pure functions. */

import { unwrapped } from "./areas.js";

/** @typedef {{name: string, corners: [number, number][], radius: number|null, when: string}} Draft latitudes and longitudes in degrees; a radius in m makes its only corner the centre of a circle */

const METRES_A_DEGREE = 111195;
/** The server tests areas of up to this number of corners. */
const MOST_CORNERS = 200;

/** Returns a name that no area has. @param {string[]} taken */
export function freeName(taken) {
    let name = "area";
    for (let i = 2; taken.includes(name); i += 1) name = `area-${i}`;
    return name;
}

/** Returns the draft as a part of a file of rules. @param {Draft} draft */
export function ruleText({ name, corners, radius, when }) {
    const points = corners.map((corner) => `[${corner.join(", ")}]`);
    const area = radius === null ? ["polygon:", ...points.map((point) => `  - ${point}`)] : [`center: ${points[0]}`, `radius: ${radius}`];
    return ["places:", `  ${name}:`, ...area.map((line) => `    ${line}`), "rules:", `  ${name}-${when}:`, `    when: {${when}: ${name}}`, "    # to: [TARGET]", ""].join("\n");
}

/** Returns the corners of a text with a latitude and a longitude in each line, and what is wrong with it, or "". @param {string} text @returns {{corners: [number, number][], problem: string}} */
export function cornersOf(text) {
    const lines = text.split("\n").map((line) => line.trim());
    const places = lines.map((line) => /** @type {[number, number]} */ (line.split(/[\s,;]+/).map((word) => (word ? Number(word) : NaN))));
    const corners = places.filter(isPosition);
    const faulty = lines.findIndex((line, i) => line && !isPosition(places[i])) + 1;
    const problem = faulty ? `Line ${faulty} is not LATITUDE, LONGITUDE` : corners.length > MOST_CORNERS ? `More than ${MOST_CORNERS} corners` : "";
    return { corners: corners.slice(0, MOST_CORNERS), problem };
}

/** Returns corners on the turn around the earth whose middle is nearest to a longitude. @param {[number, number][]} corners @param {number} near */
export function cornersNear(corners, near) {
    const all = unwrapped(corners);
    const longitudes = all.map((corner) => corner[1]);
    const turn = 360 * Math.round((near - (Math.min(...longitudes) + Math.max(...longitudes)) / 2) / 360);
    return /** @type {[number, number][]} */ (all.map(([lat, lon]) => [lat, lon + turn]));
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
