/** The calibration of accelerometer and gyroscope. Pure functions. */

import { counted, fixed } from "./format.js";

/** @typedef {{t: number, positions: number, error_before: number, error_after: number}} Calibration errors in g */

/** Returns how good a calibration is. @param {Calibration} calibration */
export function qualityText({ positions, error_before: before, error_after: after }) {
    return `At rest, |a| differs from 1 g by ${fixed(after * 1000, 1)} mg, without the calibration by ${fixed(before * 1000, 1)} mg, in ${counted(positions, "position")}`
        + (positions > 6 ? "." : "; no tilted position has checked it.");
}

/** Returns a text with a capital and a full stop. @param {string} text */
export function sentence(text) {
    return text.charAt(0).toUpperCase() + text.slice(1) + (/[.…]$/.test(text) ? "" : ".");
}

/**
 * Returns the complete server-sent events of a text, and what follows them.
 * @param {string} text @returns {{events: {name: string, data: any}[], rest: string}}
 */
export function eventsOf(text) {
    const parts = text.split("\n\n");
    const rest = parts.pop() ?? "";
    const line = (part, field) => part.split("\n").find((each) => each.startsWith(`${field}: `))?.slice(field.length + 2);
    return { events: parts.map((part) => ({ name: line(part, "event") ?? "", data: JSON.parse(line(part, "data") ?? "null") })), rest };
}
