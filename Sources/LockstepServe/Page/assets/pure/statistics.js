/** What was measured in a selection of a plot. Pure functions; times in µs. */

import { isCircular, isTurn } from "./columns.js";
import { lowerBound } from "./envelope.js";
import { fixed } from "./format.js";

/**
 * Returns the time that the rows between two times cover: their buckets, or the time between them if each is a sample.
 * @param {import("./envelope.js").Series} series @param {number} from @param {number} to
 * @returns {{from: number, to: number}|null} null without rows
 */
export function coveredBy({ times, counts, step }, from, to) {
    const first = lowerBound(times, from);
    const end = lowerBound(times, to);
    if (end <= first) return null;
    const half = counts && step ? step / 2 : 0;
    return { from: Math.round(times[first] - half), to: Math.round(times[end - 1] + half) };
}

/**
 * Returns the statistics of each column between two times, from the rows of a plot. Where rows are buckets, minimum, maximum
 * and count are those of whole buckets. Their mean and the difference of the last and the first value are not known from
 * them: they are null, unless each bucket has one sample. Directions in ° may go through north: `low` is then above `high`.
 * A bucket with both sides of north may as well have all directions: `low` and `high` are then the extremes of the values.
 * @param {import("./envelope.js").Series} series @param {number} from @param {number} to @param {boolean[]} shown
 * @returns {{name: string, unit: string, low: number, high: number, mean: number|null, change: number|null, count: number}[]}
 */
export function statisticsOf(series, from, to, shown) {
    const first = lowerBound(series.times, from);
    const end = lowerBound(series.times, to);
    return series.columns.flatMap((name, c) => {
        const unit = series.units[c];
        const rows = [];
        for (let i = first; i < end; i += 1) {
            if (shown[c] && !Number.isNaN(series.low[c][i])) rows.push({ low: series.low[c][i], high: series.high[c][i], count: series.counts?.[i] ?? 1 });
        }
        if (!rows.length) return [];
        const isExact = rows.every(({ count }) => count === 1);
        const values = isExact ? rows.map(({ low }) => low) : null;
        const count = rows.reduce((sum, row) => sum + row.count, 0);
        return [{ name, unit, count, ...(isCircular({ name, unit }) ? directions(rows, values) : numbers(rows, values)) }];
    });
}

/** @param {{low: number, high: number}[]} rows @param {number[]|null} values */
function numbers(rows, values) {
    return {
        low: rows.reduce((least, { low }) => Math.min(least, low), Infinity),
        high: rows.reduce((most, { high }) => Math.max(most, high), -Infinity),
        mean: values && values.reduce((sum, value) => sum + value, 0) / values.length,
        change: values && values[values.length - 1] - values[0],
    };
}

/** @param {{low: number, high: number}[]} rows @param {number[]|null} values */
function directions(rows, values) {
    if (rows.some((row) => isTurn(row.low, row.high))) return numbers(rows, null);
    let [low, high, before] = [Infinity, -Infinity, NaN];
    for (const { low: start, high: end } of rows) {
        const middle = (start + end) / 2;
        const shift = Number.isNaN(before) ? 0 : Math.round((before - middle) / 360) * 360;
        before = middle + shift;
        low = Math.min(low, start + shift);
        high = Math.max(high, end + shift);
    }
    const isAll = high - low >= 360;
    return { low: isAll ? 0 : direction(low), high: isAll ? 360 : direction(high), mean: values && meanDirection(values), change: values && turn(values[0], values[values.length - 1]) };
}

/** The direction of the sum of unit vectors; null if they cancel out. @param {number[]} values in ° */
function meanDirection(values) {
    let [x, y] = [0, 0];
    for (const value of values) {
        x += Math.cos((value * Math.PI) / 180);
        y += Math.sin((value * Math.PI) / 180);
    }
    return Math.hypot(x, y) < values.length * 1e-6 ? null : direction((Math.atan2(y, x) * 180) / Math.PI);
}

/** Returns the shorter turn from one direction to another, from −180° to 180°. @param {number} from @param {number} to */
export function turn(from, to) {
    return ((((to - from + 180) % 360) + 360) % 360) - 180;
}

/** @param {number} degrees */
function direction(degrees) {
    return ((degrees % 360) + 360) % 360;
}

/**
 * Returns the text of what was measured in a bucket: one value, or the range and the mean.
 * @param {{low: number, high: number, count: number}} bucket @param {number|undefined} mean undefined if it is not known @param {number} decimals @param {boolean} isDirection
 */
export function measuredText({ low, high, count }, mean, decimals, isDirection) {
    if (low === high || Number.isNaN(low)) return fixed(low, decimals);
    const range = `${fixed(low, decimals)} … ${fixed(high, decimals)}`;
    // A linear mean of directions is none. Whether they go through north or all around is not known.
    if (isDirection) return range;
    const shown = mean === undefined ? null : meanWithin(mean, { low, high, count });
    return shown === null ? range : `${range}, mean ${fixed(shown, decimals)}`;
}

/**
 * Returns a mean of the server if it can be that of some values, whose extremes a plot has with less precision; else null.
 * Of counters, the server sums. The sum of values that are not negative is at least the highest one, and their mean is below
 * that, because one of them is the lowest one.
 * @param {number} mean @param {{low: number, high: number, count: number}} values
 */
export function meanWithin(mean, { low, high, count }) {
    const tolerance = 2 ** -22 * Math.max(Math.abs(low), Math.abs(high));
    const margin = (high - low) / count - tolerance;
    return mean >= low + margin && mean <= high - margin ? Math.min(high, Math.max(low, mean)) : null;
}
