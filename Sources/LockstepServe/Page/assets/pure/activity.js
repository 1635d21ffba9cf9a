/** What the person with a device did, as intervals. Pure functions; times in µs. */

/** In these states a device measures nothing. */
const PAUSED = ["terminated", "inactive"];

/**
 * Returns the changes of activity, each at its start. Samples with the same one follow when the confidence grows.
 * @param {{columns: string[], rows: any[][]}} reply samples of the stream `activity` @returns {import("./timeline.js").Transition[]}
 */
export function activityChanges({ columns, rows }) {
    const at = (row, name) => row[columns.indexOf(name) + 1];
    const changes = [];
    for (const row of [...rows].sort((a, b) => at(a, "start") - at(b, "start"))) {
        const value = at(row, "value");
        const state = value === "unknown" ? null : value;
        const reason = `${at(row, "confidence")} confidence`;
        const last = changes[changes.length - 1];
        if (last?.state === state) last.reason = reason;
        else changes.push({ state, previous: null, reason, since: at(row, "start") });
    }
    return changes;
}

/**
 * Returns the intervals without the times in which the device measured nothing.
 * @param {import("./timeline.js").Interval[]} list of activities @param {import("./timeline.js").Interval[]} states of the device
 * @returns {import("./timeline.js").Interval[]}
 */
export function whileMeasured(list, states) {
    const pauses = states.filter(({ state }) => state !== null && PAUSED.includes(state));
    return list.flatMap((part) => {
        const parts = [];
        let { from } = part;
        for (const pause of pauses.filter(({ from: begin, to }) => begin < part.to && to > part.from)) {
            const [begin, end] = [Math.max(pause.from, part.from), Math.min(pause.to, part.to)];
            if (begin > from) parts.push({ ...part, from, to: begin, open: false });
            parts.push({ state: null, reason: null, from: begin, to: end, open: false });
            from = end;
        }
        return from < part.to ? [...parts, { ...part, from }] : parts;
    });
}

/** Returns the intervals with those that are too short to be seen as a part of the one before. @param {import("./timeline.js").Interval[]} list @param {number} least */
export function visible(list, least) {
    const result = [];
    for (const part of list) {
        const last = result[result.length - 1];
        if (last && (part.to - part.from < least || part.state === last.state)) Object.assign(last, { to: part.to, open: part.open });
        else result.push({ ...part });
    }
    return result;
}
