/** Minima and maxima of past samples for plotting, and the gaps between them. Pure functions. */

/**
 * One curve for each column: `low` and `high` are equal where a single sample was.
 * @typedef {object} Series
 * @property {string[]} columns
 * @property {string[]} units
 * @property {Float64Array} times µs
 * @property {Float32Array[]} low
 * @property {Float32Array[]} high
 * @property {number} gap µs; rows further apart than this are not connected
 * @property {number|null} step µs; width of a bucket
 * @property {number} from µs
 * @property {number} to µs
 * @property {Float64Array|null} bounds µs; the largest possible errors of the times on the collector's clock, NaN if unknown
 */

/** The column that replies on the collector's clock have after all others, with one value a row. */
const BOUND = "bound_us";

/**
 * Returns the curves of a reply of the server, of kind `envelope` or `samples`.
 * @param {{kind: string, step: number|null, columns: string[], units: string[], rows: any[][], from: number, to: number}} reply
 * @param {number|null} rate of the stream in Hz, if known
 * @returns {Series}
 */
export function seriesOf(reply, rate = null) {
    const { rows } = reply;
    const hasBound = reply.columns.at(-1) === BOUND;
    const isEnvelope = reply.kind === "envelope";
    const lead = isEnvelope ? 2 : 1;
    const picked = pickColumns(reply, lead, isEnvelope ? 2 : 1);
    const times = Float64Array.from(rows, (row) => row[0] + (isEnvelope ? (reply.step ?? 0) / 2 : 0));
    const low = picked.map(({ at }) => Float32Array.from(rows, (row) => row[at] ?? NaN));
    const high = isEnvelope ? picked.map(({ at }) => Float32Array.from(rows, (row) => row[at + 1] ?? NaN)) : low;
    return {
        columns: picked.map(({ name }) => name),
        units: picked.map(({ unit }) => unit),
        times,
        low,
        high,
        gap: gapThreshold(times, reply.step, rate),
        step: reply.step,
        from: reply.from,
        to: reply.to,
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
 * Returns the time between rows from which on they are not connected: samples are missing.
 * @param {ArrayLike<number>} times µs @param {number|null} step width of a bucket in µs @param {number|null} rate Hz
 */
export function gapThreshold(times, step, rate) {
    const expected = rate && rate > 0 ? 1e6 / rate : medianStep(times) * 1.6;
    return Math.max(expected * 2.5, (step ?? 0) * 1.75, 1000);
}

/** Returns the median of the steps between times. @param {ArrayLike<number>} times */
export function medianStep(times) {
    const count = times.length - 1;
    if (count < 1) return 0;
    const stride = Math.max(1, Math.floor(count / 500));
    const steps = [];
    for (let i = 1; i < times.length; i += stride) steps.push(times[i] - times[i - 1]);
    return steps.sort((a, b) => a - b)[steps.length >> 1];
}

/**
 * Returns the intervals without samples in a range, including those at its ends.
 * @param {ArrayLike<number>} times µs @param {number} gap µs @param {number} from µs @param {number} to µs
 * @returns {{from: number, to: number}[]}
 */
export function gapsOf(times, gap, from, to) {
    const found = [];
    let previous = from;
    let isFirst = true;
    for (let i = 0; i < times.length; i += 1) {
        const t = times[i];
        if (t < from) {
            previous = t;
            isFirst = false;
            continue;
        }
        if (t > to) break;
        if (t - previous > gap) found.push({ from: isFirst ? from : previous, to: t });
        previous = t;
        isFirst = false;
    }
    if (to - previous > gap) found.push({ from: previous, to });
    return found;
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
