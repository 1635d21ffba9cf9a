/** Scales and their ticks. Pure functions. */

/**
 * Returns round tick values between two limits.
 * @param {number} low
 * @param {number} high
 * @param {number} count about how many
 * @returns {{ticks: number[], step: number, decimals: number}}
 */
export function ticks(low, high, count) {
    const span = high - low;
    if (!(span > 0) || !Number.isFinite(span)) return { ticks: [low], step: 1, decimals: 0 };
    const raw = span / Math.max(1, count);
    const magnitude = 10 ** Math.floor(Math.log10(raw));
    const factor = [1, 2, 2.5, 5, 10].find((f) => f * magnitude >= raw * 0.999) ?? 10;
    const step = factor * magnitude;
    const values = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) values.push(k * step);
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9) + (factor === 2.5 ? 1 : 0));
    return { ticks: values, step, decimals };
}

/** Steps of a time axis in µs, all of which divide the next unit. */
const TIME_STEPS = [
    1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 10e6, 15e6, 30e6, 60e6, 120e6, 300e6, 600e6, 900e6,
    1800e6, 3600e6, 7200e6, 10800e6, 21600e6, 43200e6, 86400e6, 172800e6, 604800e6,
];

/**
 * Returns ticks of a time axis at whole local seconds, minutes, hours or days.
 * @param {number} from µs since 1970
 * @param {number} to µs since 1970
 * @param {number} count about how many
 * @param {number} offset of the local zone in µs
 */
export function timeTicks(from, to, count, offset = 0) {
    const raw = (to - from) / Math.max(1, count);
    const step = TIME_STEPS.find((s) => s >= raw) ?? TIME_STEPS[TIME_STEPS.length - 1];
    const values = [];
    for (let t = Math.ceil((from + offset) / step) * step; t <= to + offset; t += step) values.push(t - offset);
    return { ticks: values, step };
}

/**
 * Returns a value axis that contains the data with a margin, and changes only if it has to: it grows as soon as the data
 * leave it, and shrinks only when they fill less than a third of it. So a live chart does not twitch.
 * @param {{low: number, high: number}|null} previous
 * @param {number} low of the data
 * @param {number} high of the data
 * @param {number} [least] the smallest span
 */
export function steadyRange(previous, low, high, least = 1e-3) {
    if (!(high >= low)) return previous ?? { low: -1, high: 1 };
    if (previous && low >= previous.low && high <= previous.high) {
        if (high - low > (previous.high - previous.low) / 3) return previous;
        if (previous.high - previous.low <= least * 1.5) return previous;
    }
    const span = Math.max(high - low, least);
    const middle = (low + high) / 2;
    const step = ticks(middle - span / 2, middle + span / 2, 4).step;
    const range = {
        low: Math.floor((middle - span * 0.56) / step) * step,
        high: Math.ceil((middle + span * 0.56) / step) * step,
    };
    if (previous && range.low === previous.low && range.high === previous.high) return previous;
    return range;
}

/** Limits a value. @param {number} value @param {number} low @param {number} high */
export function clamp(value, low, high) {
    return value < low ? low : value > high ? high : value;
}

/** Widths that a map scale or a graticule may have: 1, 2 or 5 times a power of ten. @param {number} atMost */
export function roundLength(atMost) {
    const magnitude = 10 ** Math.floor(Math.log10(atMost));
    const factor = atMost / magnitude >= 5 ? 5 : atMost / magnitude >= 2 ? 2 : 1;
    return factor * magnitude;
}
