/** Steps, distance and pace in metric and imperial units. Pure functions. */

import { fixed, whole } from "./format.js";

const MILE = 1609.344;
const FOOT = 0.3048;

/**
 * @typedef {object} Quantity
 * @property {string} key @property {string} label @property {string} value @property {string} unit
 */

/**
 * Returns the quantities that are known, in the order of the card.
 * @param {{steps?: number|null, distance?: number|null, pace?: number|null, average_pace?: number|null, cadence?: number|null, floors_ascended?: number|null, floors_descended?: number|null}} walk
 * @param {"metric"|"imperial"} units
 * @returns {Quantity[]}
 */
export function quantities(walk, units) {
    const known = (value) => value !== null && value !== undefined && Number.isFinite(value);
    const result = [];
    if (known(walk.steps)) result.push({ key: "steps", label: "Steps", value: whole(walk.steps), unit: "" });
    if (known(walk.distance)) result.push({ key: "distance", label: "Distance", ...distanceIn(walk.distance, units) });
    if (known(walk.pace)) result.push({ key: "pace", label: "Pace", ...paceIn(walk.pace, units) });
    if (known(walk.average_pace)) result.push({ key: "average_pace", label: "Average pace", ...paceIn(walk.average_pace, units) });
    if (known(walk.cadence)) {
        result.push({ key: "cadence", label: "Cadence", value: whole(walk.cadence * 60), unit: "steps/min" });
    }
    if (known(walk.floors_ascended)) result.push({ key: "floors_up", label: "Floors up", value: whole(walk.floors_ascended), unit: "" });
    if (known(walk.floors_descended)) result.push({ key: "floors_down", label: "Floors down", value: whole(walk.floors_descended), unit: "" });
    return result;
}

/** @param {number} metres @param {"metric"|"imperial"} units */
export function distanceIn(metres, units) {
    if (units === "imperial") {
        if (metres < MILE / 4) return { value: whole(metres / FOOT), unit: "ft" };
        return { value: fixed(metres / MILE, metres < 10 * MILE ? 2 : 1), unit: "mi" };
    }
    if (metres < 1000) return { value: whole(metres), unit: "m" };
    return { value: fixed(metres / 1000, metres < 10_000 ? 2 : 1), unit: "km" };
}

/** A length in the unit that is usual for accuracies and altitudes. @param {number} metres @param {"metric"|"imperial"} units @param {number} [decimals] of metres */
export function lengthIn(metres, units, decimals = 0) {
    return units === "imperial" ? `${fixed(metres / FOOT)} ft` : `${fixed(metres, decimals)} m`;
}

/** Minutes and seconds for a kilometre or a mile. @param {number} secondsPerMetre @param {"metric"|"imperial"} units */
export function paceIn(secondsPerMetre, units) {
    const seconds = Math.round(secondsPerMetre * (units === "imperial" ? MILE : 1000));
    return {
        value: `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`,
        unit: units === "imperial" ? "min/mi" : "min/km",
    };
}

/** @param {number} metresPerSecond @param {"metric"|"imperial"} units */
export function speedIn(metresPerSecond, units) {
    return units === "imperial"
        ? { value: fixed((metresPerSecond * 3600) / MILE, 1), unit: "mph" }
        : { value: fixed(metresPerSecond * 3.6, 1), unit: "km/h" };
}
