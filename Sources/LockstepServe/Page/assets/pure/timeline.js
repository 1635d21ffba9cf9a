/** The life-cycle states of a device as intervals. Pure functions; times in µs. */

/**
 * @typedef {object} Transition
 * @property {string} state @property {string|null} previous @property {string|null} reason @property {number} since
 * @property {number} [seq] @property {number} [recognised] of an activity: the time of its newest sample
 *
 * @typedef {object} Interval
 * @property {string|null} state null before the first known state
 * @property {string|null} reason @property {number} from @property {number} to @property {boolean} open whether it is ongoing
 * @property {number} [recognised] as in the transition
 */

/**
 * Returns the intervals between two times, without holes.
 * @param {Transition[]} transitions ascending @param {number} from @param {number} to
 * @returns {Interval[]}
 */
export function intervals(transitions, from, to) {
    const result = [];
    const first = transitions[0];
    if (!first || first.since > from) {
        const until = Math.min(first?.since ?? to, to);
        if (until > from) result.push({ state: first?.previous ?? null, reason: null, from, to: until, open: !first });
    }
    transitions.forEach((transition, i) => {
        const next = transitions[i + 1];
        const begin = Math.max(from, transition.since);
        const end = Math.min(to, next?.since ?? to);
        if (end > begin) {
            result.push({ state: transition.state, reason: transition.reason ?? null, from: begin, to: end, open: !next, recognised: transition.recognised });
        }
    });
    return result;
}

/**
 * Returns the intervals of which the last one ends when its state was known last: since then it may have changed.
 * @param {Interval[]} list @param {number} until µs @returns {Interval[]}
 */
export function knownUntil(list, until) {
    const last = list[list.length - 1];
    if (!last?.open || until >= last.to) return list;
    const end = Math.max(last.from, until);
    const known = end > last.from ? [{ ...last, to: end, open: false }] : [];
    return [...list.slice(0, -1), ...known, { state: null, reason: null, from: end, to: last.to, open: true }];
}

/**
 * Returns the end of a range of states that contains a time of the past; null for the range that ends now.
 * @param {number|null} time what has to be in it; null for the present
 * @param {number} span @param {number|null} end of the range that is shown: it stays while it contains the time @param {number} now
 */
export function rangeEnd(time, span, end, now) {
    if (time === null || time >= now - span) return null;
    return end !== null && end - span <= time && time <= end ? end : Math.min(now, Math.round(time + span / 2));
}

/**
 * Returns the share of each state in the time in which the state is known.
 * @param {Interval[]} list @returns {Map<string, number>}
 */
export function shares(list) {
    const sums = new Map();
    let total = 0;
    for (const { state, from, to } of list) {
        if (state === null) continue;
        sums.set(state, (sums.get(state) ?? 0) + to - from);
        total += to - from;
    }
    for (const [state, sum] of sums) sums.set(state, sum / total);
    return sums;
}

/** Reasons in words. @param {string|null|undefined} reason */
export function reasonText(reason) {
    if (!reason) return "";
    return REASONS[reason] ?? reason.replaceAll("-", " ");
}

const REASONS = {
    "live-sample": "live sample",
    "connection-lost": "connection lost",
    silent: "silent: nothing received",
    settled: "settle time passed",
    foreground: "foreground phase",
    background: "background phase",
    inactive: "interrupted",
    terminated: "stopped cleanly",
    "source-failed": "stopped: a source failed",
    command: "by command",
    start: "start of the agent",
    reconnect: "reconnected",
    suspend: "system suspended",
    wake: "system woke up",
};
