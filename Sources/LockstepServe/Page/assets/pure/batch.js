/** Batches of the wire format, as they arrive in live events. Pure functions. */

/**
 * Returns the times of all samples of a batch in µs.
 * @param {{t: number, dt?: number|number[]}} batch @param {number} count @returns {number[]}
 */
export function timesOf({ t, dt }, count) {
    const times = [t];
    for (let i = 1; i < count; i += 1) times.push(times[i - 1] + (Array.isArray(dt) ? dt[i - 1] : /** @type {number} */ (dt)));
    return times;
}

const MEMBERS = new Set(["v", "epoch", "seq", "live", "t", "dt", "group", "device", "stream"]);

/** Returns the names of the columns of a batch. @param {Record<string, unknown>} batch */
export function columnsOf(batch) {
    return Object.keys(batch).filter((name) => !MEMBERS.has(name) && Array.isArray(batch[name]));
}

/** Returns the number of samples of a batch. @param {Record<string, unknown>} batch */
export function lengthOf(batch) {
    const column = columnsOf(batch)[0];
    return column ? /** @type {unknown[]} */ (batch[column]).length : 0;
}
