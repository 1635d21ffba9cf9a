/** The newest values of streams, as texts and as curves. Pure functions and values. */

import { isCircular } from "./columns.js";
import { fixed, UNKNOWN } from "./format.js";
import { shownUnit } from "./imperial.js";

/**
 * Returns the newest values of a stream with their units; times are left out.
 * @param {{columns: string[], units: string[], newest: {values: Record<string, any>}|null}} stream @param {"metric"|"imperial"} chosen
 */
export function valuesOf({ columns, units, newest }, chosen = "metric") {
    return columns.map((name, i) => {
        const value = newest?.values?.[name];
        const { unit, factor, offset } = shownUnit(units[i] === "–" ? "" : (units[i] ?? ""), chosen);
        return { name, unit, text: textOf(typeof value === "number" ? value * factor + offset : value) };
    }).filter(({ unit }) => unit !== "µs since 1970");
}

/** Four digits, which a column has room for. @param {any} value */
function textOf(value) {
    if (typeof value === "string") return value;
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value !== "number") return UNKNOWN;
    const size = Math.abs(value);
    return fixed(value, Number.isInteger(value) ? 0 : size < 10 ? 3 : size < 100 ? 2 : 1);
}

/** Returns the direction in ° that a stream has, null if it is not known at present, undefined if it has none. @param {any} stream */
export function headingOf({ columns, units, newest }) {
    const name = columns.find((column, i) => isCircular({ name: column, unit: units[i] }));
    return name === undefined ? undefined : (newest?.values?.[name] ?? null);
}

/** Steps without a value that are no gap. */
const BRIDGED = 4;

/** The course of a value in steps of time; NaN where there was none. */
export class Course {
    /** Changes with the values. */
    version = 0;
    /** The step of the newest value, counted from 1970. */
    #end = 0;

    /** @param {number} length @param {number} step µs */
    constructor(length, step) {
        this.step = step;
        this.values = new Float32Array(length).fill(NaN);
    }

    /** Takes the newest value, and moves on with the time. @param {number} t µs; its time @param {any} value @param {number} now µs */
    add(t, value, now) {
        this.#moveTo(now);
        this.fill(t, value);
    }

    /** Takes a value of the past, unless there is one. @param {number} t µs @param {any} value */
    fill(t, value) {
        if (this.#end === 0) this.#moveTo(t);
        const i = this.values.length - 1 - (this.#end - Math.floor(t / this.step));
        if (typeof value !== "number" || i < 0 || i >= this.values.length) return;
        this.values[i] = value;
        this.version += 1;
    }

    /** The values as they are drawn: what is asked for every step now and then leaves one out, which is no gap. */
    get curve() {
        const curve = this.values.slice();
        let last = -1;
        for (let i = 0; i < curve.length; i += 1) {
            if (Number.isNaN(curve[i])) continue;
            for (let k = last + 1; last >= 0 && i - last <= BRIDGED && k < i; k += 1) curve[k] = curve[last] + ((curve[i] - curve[last]) * (k - last)) / (i - last);
            last = i;
        }
        return curve;
    }

    /** @param {number} now */
    #moveTo(now) {
        const end = Math.floor(now / this.step);
        const by = Math.min(this.values.length, end - this.#end);
        if (by <= 0) return;
        this.#end = end;
        this.version += 1;
        this.values.copyWithin(0, by);
        this.values.fill(NaN, this.values.length - by);
    }
}
