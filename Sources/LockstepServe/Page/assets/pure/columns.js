/** Which columns of a stream are plotted. Pure functions. */

/** @typedef {{name: string, unit: string}} Column */

const DEFAULTS = {
    "motion/device": ["ux", "uy", "uz"],
    location: ["speed"],
    steps: ["cadence"],
    battery: ["level"],
    heading: ["magnetic"],
};

/** Columns of built-in streams whose values are words. */
const WORDS = { "motion/device": ["frame"], orientation: ["value"], activity: ["value", "confidence"], battery: ["state"] };

/**
 * Returns the columns of a stream that can be plotted.
 * @param {{stream: string, columns: string[], units: string[], newest: {values: Record<string, unknown>}|null}} stream
 * @returns {Column[]}
 */
export function plottable({ stream, columns, units, newest }) {
    return columns
        .map((name, i) => ({ name, unit: units[i] === "–" ? "" : (units[i] ?? "") }))
        .filter(({ name, unit }) => unit !== "µs since 1970" && typeof newest?.values?.[name] !== "string" && !(WORDS[stream] ?? []).includes(name));
}

/**
 * Returns the columns that are shown at first: all of the first unit, because one axis has one unit.
 * @param {string} stream @param {Column[]} columns @returns {string[]}
 */
export function shownAtFirst(stream, columns) {
    const known = DEFAULTS[stream]?.filter((name) => columns.some((column) => column.name === name));
    if (known?.length) return known;
    return columns.filter(({ unit }) => unit === columns[0]?.unit).slice(0, 6).map(({ name }) => name);
}

/** Returns a stream's name for people: the last part of its name. @param {string} stream */
export function streamTitle(stream) {
    if (stream === "motion/device") return "Device motion";
    const last = stream.startsWith("x/") ? stream.slice(2) : stream.split("/").pop() ?? stream;
    return last.charAt(0).toUpperCase() + last.slice(1);
}

/** Columns with a direction in °, in which 360 follows 0. */
const CIRCULAR = new Set(["magnetic", "true_north", "course", "heading", "bearing", "azimuth"]);

/** Whether 360 follows 0 in a column. @param {Column} column */
export function isCircular({ name, unit }) {
    return unit === "°" && CIRCULAR.has(name);
}

/** Whether two directions in ° are connected through north: a line between them would cross the whole chart. @param {number} a @param {number} b */
export function isTurn(a, b) {
    return Math.abs(a - b) > 180;
}
