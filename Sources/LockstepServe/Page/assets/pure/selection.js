/** Search, filters and order of the fleet. Pure functions. */

/**
 * @typedef {object} Entry
 * @property {import("../core/api.js").Device} device
 * @property {import("./problems.js").Problem[]} problems
 * @property {number} severity
 */

export const SORTS = {
    problems: "Problems first",
    name: "Name",
    age: "Last sample",
    rate: "Rate",
    battery: "Battery",
    missing: "Missing batches",
    since: "Last change of state",
};

/**
 * Returns the entries in the natural order of their names. Comparing names is slow, so this is done only for new devices.
 * @param {Entry[]} entries
 */
export function sortedByName(entries) {
    return [...entries].sort((a, b) => collator.compare(a.device.device, b.device.device) || collator.compare(a.device.group, b.device.group));
}

/**
 * Returns the entries that match, in order.
 * @param {Entry[]} entries sorted by name, which is the order of equal ones
 * @param {{search: string, group: string, state: string, sort: string, isReversed?: boolean}} filter `group` and `state` empty for all;
 *   state `problems` for devices with problems, `unknown` for those without a state; `isReversed` for the opposite order
 */
export function select(entries, { search, group, state, sort, isReversed = false }) {
    const words = search.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const matching = entries.filter((entry) => {
        const { device } = entry;
        if (group && device.group !== group) return false;
        if (state && !isInState(entry, state)) return false;
        if (!words.length) return true;
        const text = `${device.group}/${device.device} ${device.state ?? ""} ${(device.streams ?? []).join(" ")}`.toLowerCase();
        return words.every((word) => text.includes(word));
    });
    const compare = COMPARE[sort] ?? COMPARE.problems;
    // Sorting is stable.
    const sorted = sort === "name" ? matching : matching.sort(compare);
    return isReversed ? sorted.reverse() : sorted;
}

/** @param {Entry} entry @param {string} state */
function isInState(entry, state) {
    if (state === "problems") return entry.severity > 0;
    if (state === "unknown") return !entry.device.state;
    return entry.device.state === state;
}

/** Returns how many entries each state filter would show. @param {Entry[]} entries @returns {Record<string, number>} */
export function countStates(entries) {
    const counts = { all: entries.length, problems: 0, active: 0, inactive: 0, background: 0, resumed: 0, terminated: 0, unknown: 0 };
    for (const entry of entries) {
        counts[entry.device.state ?? "unknown"] += 1;
        if (entry.severity > 0) counts.problems += 1;
    }
    return counts;
}

/** Returns the sum of the rates of all streams in Hz. @param {import("../core/api.js").Device} device */
export function totalRate(device) {
    let sum = 0;
    for (const value of Object.values(device.rates ?? {})) sum += value ?? 0;
    return sum;
}

/** Returns the stream with the highest rate, or null. @param {import("../core/api.js").Device} device */
export function mainStream(device) {
    let best = null;
    let highest = 0;
    for (const [name, value] of Object.entries(device.rates ?? {})) {
        if (value > highest) [best, highest] = [name, value];
    }
    return best ?? (device.streams ?? []).find((name) => name.startsWith("motion/")) ?? (device.streams ?? [])[0] ?? null;
}

const collator = new Intl.Collator("en", { numeric: true });

/** @type {Record<string, (a: Entry, b: Entry) => number>} */
const COMPARE = {
    problems: (a, b) => b.severity - a.severity || rank(a) - rank(b),
    name: () => 0,
    age: (a, b) => (b.device.last_sample ?? 0) - (a.device.last_sample ?? 0),
    rate: (a, b) => totalRate(b.device) - totalRate(a.device),
    battery: (a, b) => (a.device.battery?.level ?? 2) - (b.device.battery?.level ?? 2),
    missing: (a, b) => (b.device.missing ?? 0) - (a.device.missing ?? 0) || (b.device.on_its_way ?? 0) - (a.device.on_its_way ?? 0),
    since: (a, b) => (b.device.since ?? 0) - (a.device.since ?? 0),
};

/** Stopped devices come after running ones. @param {Entry} entry */
function rank(entry) {
    return entry.device.state === "terminated" ? 1 : 0;
}
