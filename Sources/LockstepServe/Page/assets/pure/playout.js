/**
 * Playback of samples that arrive in batches, for example once a second. Everything that moves is drawn for a time shortly
 * before now, at which the samples are certain to have arrived; so it moves smoothly. Pure functions.
 */

/**
 * @typedef {object} Playout
 * @property {number} delay µs between now and the time that is drawn
 * @property {number} wanted µs; the delay that recent arrivals need
 * @property {number|null} newest time of the newest sample, in µs
 * @property {number} updated time of the last step, in µs
 */

const LEAST_DELAY = 60_000;
const MOST_DELAY = 4_000_000;
/** Beyond the delay of the slowest arrival, for the jitter of network and timers. */
const MARGIN = 60_000;

/** @returns {Playout} */
export function startPlayout() {
    return { delay: 1_150_000, wanted: 1_150_000, newest: null, updated: 0 };
}

/**
 * Takes an arrival into account: just before it, only samples up to the previous newest one were there.
 * @param {Playout} playout @param {number} newest time of the newest sample of the batch @param {number} now both in µs
 * @returns {Playout}
 */
export function arrived(playout, newest, now) {
    const previous = playout.newest;
    if (previous !== null && newest <= previous) return playout;
    let wanted = playout.wanted;
    if (previous !== null) {
        const needed = now - previous + MARGIN;
        // A pause, not a batch: it ends without effect on the delay.
        if (needed <= MOST_DELAY) wanted = needed > wanted ? needed : wanted + (needed - wanted) * 0.1;
    }
    return { ...playout, newest, wanted: Math.min(MOST_DELAY, Math.max(LEAST_DELAY, wanted)) };
}

/**
 * Brings the delay closer to the one wanted: time is drawn at most 10 % faster or slower than it passes.
 * @param {Playout} playout @param {number} now µs @returns {Playout}
 */
export function advance(playout, now) {
    const elapsed = Math.min(250_000, Math.max(0, now - playout.updated));
    const change = playout.wanted - playout.delay;
    const limit = elapsed * 0.1;
    return { ...playout, delay: playout.delay + Math.max(-limit, Math.min(limit, change)), updated: now };
}

/** The time to draw, in µs. @param {Playout} playout @param {number} now µs */
export function playhead(playout, now) {
    return now - playout.delay;
}
