/** Texts of the comparison of a device's clock with the collector's. Pure functions. */

import { age, fixed, UNKNOWN } from "./format.js";

/**
 * @typedef {{offset: number|null, offset_us?: number|null, drift_ppm?: number|null, bound_us?: number|null, age_s?: number|null}} DeviceClock
 *   `offset`, in µs, is the time of the newest sample less that of its receipt; the others are of the comparison.
 */

/** Returns how far the clock of a device is from that of the collector. @param {DeviceClock|null|undefined} clock */
export function offsetText(clock) {
    const { offset_us: offset, bound_us: bound } = clock ?? {};
    if (isNumber(offset) && isNumber(bound)) {
        // As many decimals as the bound is worth.
        const decimals = bound < 1000 ? 2 : bound < 100_000 ? 1 : 0;
        const range = `± ${fixed(bound / 1000, decimals)} ms`;
        if (Math.abs(offset) <= bound) return `offset 0 ${range}`;
        return `${fixed(Math.abs(offset) / 1000, decimals)} ms ${offset > 0 ? "ahead" : "behind"} ${range}`;
    }
    const arrival = clock?.offset;
    if (!isNumber(arrival)) return "not measured";
    return arrival > 0 ? `ahead by at least ${fixed(arrival / 1000, 1)} ms` : `samples arrive ${fixed(-arrival / 1000, 0)} ms after their time`;
}

/** Returns the largest error of times on the collector's clock. @param {number} bound µs; NaN for a clock that was never compared */
export function boundText(bound) {
    if (!isNumber(bound)) return "clock not compared";
    return bound < 10e6 ? `± ${fixed(bound / 1000, bound < 1000 ? 2 : bound < 100_000 ? 1 : 0)} ms` : `± ${fixed(bound / 1e6)} s`;
}

/** Returns the drift of the clock of a device and the age of its measurement. @param {DeviceClock|null|undefined} clock */
export function driftText(clock) {
    const { drift_ppm: drift, age_s: seconds } = clock ?? {};
    if (!isNumber(drift)) return UNKNOWN;
    const text = `${drift > 0 ? "+" : ""}${fixed(drift, 1)} ppm`;
    if (!isNumber(seconds)) return text;
    return seconds < 2 ? `${text}, measured now` : `${text}, measured ${age(seconds)} ago`;
}

function isNumber(value) {
    return typeof value === "number" && Number.isFinite(value);
}
