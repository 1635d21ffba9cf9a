/**
 * Where samples are missing. A pause is judged by the steps around it: the rate of that time, not the present one.
 * Pure functions; times in µs.
 */

/** Steps on each side that are compared. */
const NEIGHBOURS = 7;
/** A step this many times as long as those around it is a gap. */
const FACTOR = 3;

/**
 * Returns the usual step between samples around the one from `i - 1` to `i`, which is not counted: the longer one of both
 * sides, because the rate may change there. 0 if there are no other samples.
 * @param {(i: number) => number} timeAt @param {number} i @param {number} start first index @param {number} end after the last one
 */
function usualStep(timeAt, i, start, end) {
    const steps = (first, last) => {
        const result = [];
        for (let k = Math.max(start + 1, first); k <= Math.min(end - 1, last); k += 1) result.push(timeAt(k) - timeAt(k - 1));
        return median(result);
    };
    return Math.max(steps(i - NEIGHBOURS, i - 1), steps(i + 1, i + NEIGHBOURS));
}

/**
 * Whether samples are missing before the one with index `i`.
 * @param {(i: number) => number} timeAt @param {number} i @param {number} start @param {number} end @param {number} least shorter steps are no gap
 */
export function isGapBefore(timeAt, i, start, end, least) {
    if (i <= start) return false;
    const step = timeAt(i) - timeAt(i - 1);
    if (step <= least) return false;
    const usual = usualStep(timeAt, i, start, end);
    return usual > 0 && step > FACTOR * usual;
}

/** The time after the last sample from which on the next one is missing. @param {(i: number) => number} timeAt @param {number} start @param {number} end @param {number} least */
export function patienceAfter(timeAt, start, end, least) {
    return Math.max(FACTOR * usualStep(timeAt, end, start, end), least);
}

/** The same before the first sample. @param {(i: number) => number} timeAt @param {number} start @param {number} end @param {number} least */
export function patienceBefore(timeAt, start, end, least) {
    return Math.max(FACTOR * usualStep(timeAt, start, start, end), least);
}

/** @param {number[]} values */
function median(values) {
    return values.length ? values.sort((a, b) => a - b)[values.length >> 1] : 0;
}
