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

/**
 * Returns the intervals that are wide enough to be seen. Those that are too short are shown together, as the activity with the
 * largest share, or as a part of the one before. What is not known at the end stays, however short it is.
 * @param {import("./timeline.js").Interval[]} list @param {number} least @returns {import("./timeline.js").Interval[]}
 */
export function visible(list, least) {
    /** @type {import("./timeline.js").Interval[]} */
    const result = [];
    /** @type {import("./timeline.js").Interval[]} */
    let short = [];
    const width = (parts) => parts.reduce((sum, { from, to }) => sum + to - from, 0);
    const add = (part) => {
        const last = result[result.length - 1];
        if (last?.state === part.state) Object.assign(last, { to: part.to, open: part.open });
        else result.push({ ...part });
    };
    const addShort = () => {
        if (!short.length) return;
        const [first, last] = [short[0], short[short.length - 1]];
        const before = result[result.length - 1];
        const most = before && width(short) < least ? before : short.map((part) => ({ ...part, sum: width(short.filter(({ state }) => state === part.state)) })).reduce((a, b) => (b.sum > a.sum ? b : a));
        add({ state: most.state, reason: most.reason, from: first.from, to: last.to, open: last.open && last.state === most.state });
        short = [];
    };
    for (const part of list) {
        if (part.to - part.from < least && !(part.open && part.state === null)) {
            short.push(part);
            if (width(short) >= least) addShort();
        } else {
            addShort();
            add(part);
        }
    }
    addShort();
    return result;
}
