/** Minima and maxima of past samples for plotting, and the gaps between them. Pure functions. */

import { isGapBefore, patienceAfter, patienceBefore } from "./gaps.js";

/**
 * One curve for each column: `low` and `high` are equal where a single sample was.
 * @typedef {object} Series
 * @property {string[]} columns
 * @property {string[]} units
 * @property {Float64Array} times µs
 * @property {Float32Array[]} low
 * @property {Float32Array[]} high
 * @property {Uint8Array} gaps 1 where samples are missing before a row
 * @property {[number, number]} ends µs; the time before the first and after the last row from which on samples are missing
 * @property {Float64Array|null} counts samples of each bucket; null if each row is a sample
 * @property {number|null} step µs; width of a bucket
 * @property {number} from µs
 * @property {number} to µs
 * @property {"samples"|"summaries"|"both"} source what the values of buckets were computed from
 * @property {Float64Array|null} bounds µs; the largest possible errors of the times on the collector's clock, NaN if unknown
 */

/** The column that replies on the collector's clock have after all others, with one value a row. */
const BOUND = "bound_us";

/**
 * Returns the curves of a reply of the server, of kind `envelope` or `samples`.
 * @param {{kind: string, step: number|null, columns: string[], units: string[], rows: any[][], from: number, to: number, source?: "samples"|"summaries"|"both", shift?: number}} reply `shift` is how much later its rows are than the times that are shown
 * @returns {Series}
 */
export function seriesOf(reply) {
    const { rows } = reply;
    const hasBound = reply.columns.at(-1) === BOUND;
    const isEnvelope = reply.kind === "envelope";
    const lead = isEnvelope ? 2 : 1;
    const picked = pickColumns(reply, lead, isEnvelope ? 2 : 1);
    const times = Float64Array.from(rows, (row) => row[0] - (reply.shift ?? 0) + (isEnvelope ? (reply.step ?? 0) / 2 : 0));
    const low = picked.map(({ at }) => Float32Array.from(rows, (row) => row[at] ?? NaN));
    const high = isEnvelope ? picked.map(({ at }) => Float32Array.from(rows, (row) => row[at + 1] ?? NaN)) : low;
    const timeAt = (i) => times[i];
    // A bucket may be empty because samples are about as far apart as buckets.
    const least = Math.max(1000, (reply.step ?? 0) * 1.75);
    return {
        columns: picked.map(({ name }) => name),
        units: picked.map(({ unit }) => unit),
        times,
        low,
        high,
        gaps: Uint8Array.from(times, (_, i) => (isGapBefore(timeAt, i, 0, times.length, least) ? 1 : 0)),
        ends: [patienceBefore(timeAt, 0, times.length, least), patienceAfter(timeAt, 0, times.length, least)],
        counts: isEnvelope ? Float64Array.from(rows, (row) => row[1]) : null,
        step: reply.step,
        from: reply.from,
        to: reply.to,
        source: reply.source ?? "samples",
        bounds: hasBound ? Float64Array.from(rows, (row) => row.at(-1) ?? NaN) : null,
    };
}

/** Numeric columns and the place of their values in a row. */
function pickColumns(reply, lead, width) {
    const row = reply.rows[0];
    const all = reply.columns.filter((name) => name !== BOUND).map((name, i) => ({ name, unit: reply.units[i] ?? "" }));
    const count = row && row.length - (reply.columns.length - all.length);
    if (!row) return all.map((column) => ({ ...column, at: lead }));
    // An envelope may leave out columns of words; rows then are shorter than the list of columns.
    const present = count === lead + width * all.length ? all : all.filter(({ name }) => !WORDS.has(name));
    return present
        .map((column, i) => ({ ...column, at: lead + width * i }))
        .filter(({ at }) => !reply.rows.some((r) => typeof r[at] === "string"));
}

/** Columns of built-in streams whose values are words. */
const WORDS = new Set(["frame", "value", "state"]);

/**
 * Returns the intervals without samples in a range, including those at its ends.
 * @param {Pick<Series, "times"|"gaps"|"ends">} series @param {number} from µs @param {number} to µs
 * @returns {{from: number, to: number}[]}
 */
export function gapsOf({ times, gaps, ends }, from, to) {
    const found = [];
    const first = lowerBound(times, from);
    if (!times.length) return to > from ? [{ from, to }] : [];
    if (first === 0 && times[0] - from > ends[0]) found.push({ from, to: Math.min(to, times[0]) });
    for (let i = Math.max(1, first); i < times.length && times[i - 1] < to; i += 1) {
        if (gaps[i]) found.push({ from: times[i - 1], to: times[i] });
    }
    const last = times[times.length - 1];
    if (last < to && to - last > ends[1]) found.push({ from: Math.max(from, last), to });
    return found;
}

/**
 * Returns the row at a time: the bucket that contains it, or the nearest sample. -1 if there is none.
 * @param {Pick<Series, "times"|"step">} series @param {number} time µs @param {number} reach µs; how far a row may be from the time
 */
export function rowAt({ times, step }, time, reach) {
    let i = lowerBound(times, time);
    if (i > 0 && (i >= times.length || time - times[i - 1] < times[i] - time)) i -= 1;
    return times.length && Math.abs(times[i] - time) <= Math.max(reach, (step ?? 0) / 2) ? i : -1;
}

/**
 * Returns the mean of each column in the averages of parts of a bucket, weighted by their samples.
 * @param {{columns: string[], rows: any[][]}} reply of kind `average` @returns {Record<string, number>}
 */
export function meansOf({ columns, rows }) {
    const result = {};
    columns.forEach((name, i) => {
        let sum = 0;
        let count = 0;
        for (const row of rows) {
            if (typeof row[i + 2] !== "number") continue;
            sum += row[i + 2] * row[1];
            count += row[1];
        }
        if (count > 0) result[name] = sum / count;
    });
    return result;
}

/**
 * Returns the last value of each column minus the first one.
 * @param {{columns: string[], rows: any[][]}} first @param {{columns: string[], rows: any[][]}} last both of kind `samples` @returns {Record<string, number>}
 */
export function changesOf(first, last) {
    const result = {};
    first.columns.forEach((name, i) => {
        const begin = first.rows[0]?.[i + 1];
        const end = last.rows.at(-1)?.[last.columns.indexOf(name) + 1];
        if (typeof begin === "number" && typeof end === "number") result[name] = end - begin;
    });
    return result;
}

/**
 * Returns the lowest and highest value within a time range, or null.
 * @param {Series} series @param {number} from µs @param {number} to µs @param {boolean[]} [shown] for each column
 */
export function extentOf(series, from, to, shown) {
    let low = Infinity;
    let high = -Infinity;
    const { times } = series;
    for (let c = 0; c < series.low.length; c += 1) {
        if (shown && !shown[c]) continue;
        for (let i = lowerBound(times, from); i < times.length && times[i] <= to; i += 1) {
            if (series.low[c][i] < low) low = series.low[c][i];
            if (series.high[c][i] > high) high = series.high[c][i];
        }
    }
    return high >= low ? { low, high } : null;
}

/**
 * Returns the largest error of the times in a range in µs, or null without samples. It is NaN if the clock is unknown.
 * @param {Series} series @param {number} from µs @param {number} to µs
 */
export function boundOf(series, from, to) {
    let largest = null;
    const { times, bounds } = series;
    for (let i = lowerBound(times, from); bounds && i < times.length && times[i] <= to; i += 1) {
        if (largest === null || !(bounds[i] <= largest)) largest = bounds[i];
    }
    return largest;
}

/** Tells which values were computed from summaries of minutes. @param {Pick<Series, "source">[]} all */
export function sourceText(all) {
    if (all.every(({ source }) => source === "samples")) return "";
    return all.every(({ source }) => source === "summaries") ? "from summaries" : "partly from summaries";
}

/** Returns the index of the first time that is not before `time`. @param {ArrayLike<number>} times @param {number} time */
export function lowerBound(times, time) {
    let low = 0;
    let high = times.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (times[middle] < time) low = middle + 1;
        else high = middle;
    }
    return low;
}
