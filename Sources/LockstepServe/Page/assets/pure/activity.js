/** What the person with a device did, as intervals. Pure functions; times in µs. */

/** In these states a device measures nothing. */
const PAUSED = ["terminated", "inactive"];
/** For these reasons nobody knows whether a device in the background measures, unless it sends later what it has kept. */
const LOST = ["connection-lost", "silent"];

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
        const [since, [recognised]] = [at(row, "start"), row];
        const last = changes[changes.length - 1];
        if (last?.state === state && last.since === since) Object.assign(last, { reason, recognised });
        else changes.push({ state, previous: null, reason, since, recognised });
    }
    return changes;
}

/**
 * Returns the intervals without the times in which the device measured nothing. After them, an activity of before is not
 * known either, unless it was recognised again. One that was recognised while the connection was lost was measured then.
 * @param {import("./timeline.js").Interval[]} list of activities @param {import("./timeline.js").Interval[]} states of the device
 * @returns {import("./timeline.js").Interval[]}
 */
export function whileMeasured(list, states) {
    const isLost = ({ state, reason }) => state === "background" && LOST.includes(reason ?? "");
    const pauses = states.filter((span) => PAUSED.includes(span.state ?? "") || isLost(span));
    return list.flatMap((part) => {
        if (part.state === null) return [part];
        const recognised = part.recognised ?? part.from;
        const parts = [];
        let { from } = part;
        for (const pause of pauses.filter(({ from: begin, to }) => begin < part.to && to > part.from)) {
            if (from >= part.to) break;
            if (isLost(pause) && recognised > pause.from) continue;
            const begin = Math.max(pause.from, part.from);
            const end = recognised >= pause.to ? Math.min(pause.to, part.to) : part.to;
            if (begin > from) parts.push({ ...part, from, to: begin, open: false });
            parts.push({ state: null, reason: null, from: begin, to: end, open: part.open && end === part.to });
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
