/** Samples around a moment, and its movement while the past is played. Pure functions; times in µs. */

import { SampleRing } from "./ring.js";

/** Speeds of playback: seconds of the past in a second. */
export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60];

/** What is loaded around a moment lasts about this long, in s. */
const BEFORE = 5;
const AFTER = 20;
/** Up to this speed, every sample is loaded; above, averages of what passes within 25 ms. */
const EVERY_SAMPLE = 4;

/**
 * Returns the range to load around a moment, and the length of averages in ms; null for all samples.
 * @param {number} time @param {number} speed
 */
export function chunkOf(time, speed) {
    const scale = Math.max(1, speed) * 1e6;
    return { from: Math.round(time - BEFORE * scale), to: Math.round(time + AFTER * scale), every: speed > EVERY_SAMPLE ? Math.max(100, Math.round(speed * 25)) : null };
}

/** Whether a ring has the samples of a moment. @param {SampleRing} ring @param {number} time */
export function isWithin(ring, time) {
    return ring.end > 0 && ring.timeAt(ring.start) <= time && time <= /** @type {number} */ (ring.newest);
}

/**
 * Returns the samples of a reply of the server, of kind `samples` or `average`, as a stream of live samples; null without any.
 * @param {{kind: string, columns: string[], rows: any[][]}} reply @returns {import("../core/live.js").LiveStream|null}
 */
export function ringOf({ kind, columns, rows }) {
    if (!rows.length) return null;
    const lead = kind === "average" ? 2 : 1;
    const isWord = (i) => rows.some((row) => typeof row[i + lead] === "string");
    const numeric = columns.map((name, i) => ({ name, at: i + lead })).filter((_, i) => !isWord(i));
    const ring = new SampleRing(numeric.length, rows.length);
    for (const row of rows) ring.append(row[0], numeric.map(({ at }) => row[at]));
    const last = rows[rows.length - 1];
    const words = new Map(columns.flatMap((name, i) => (isWord(i) ? [[name, { t: last[0], value: last[i + lead] }]] : [])));
    return { ring, columns: numeric.map(({ name }) => name), words, playout: /** @type {any} */ (null) };
}

/**
 * Returns the moment after some time of playback; null when it has reached the present.
 * @param {number} time @param {number} elapsed ms that have passed @param {number} speed @param {number} now
 */
export function played(time, elapsed, speed, now) {
    // After a pause of the page, for example while it was hidden, playback goes on where it was.
    const next = time + Math.min(elapsed, 250) * 1000 * speed;
    return next >= now - 2e6 && next > time ? null : next;
}

/**
 * Returns the last of ascending times that is not after a moment, as its index; -1 if there is none.
 * @param {{t: number}[]} items @param {number} time
 */
export function lastAt(items, time) {
    let low = 0;
    let high = items.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (items[middle].t <= time) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}
