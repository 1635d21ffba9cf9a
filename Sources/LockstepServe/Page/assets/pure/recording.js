/** Sessions: recordings of several devices. Texts and requests. Pure functions; times in µs. */

import { duration } from "./format.js";

/**
 * @typedef {{id: string, t: number, clock?: string, text: string, device?: string, value?: number, duration_s?: number}} Marker
 * @typedef {object} Recording
 * @property {string} group @property {string} id @property {string} name @property {string} state @property {number} created
 * @property {number} [start] @property {number} [end] @property {Record<string, number>} rates @property {Record<string, string>} labels
 * @property {string} [note] @property {number} [for_s] @property {number} within_s @property {number} [clock_bound_us]
 * @property {{device: string, problem?: string, rates?: Record<string, number>, clock_bound_us?: number, has_samples: boolean, on_its_way: number, missing: number}[]} devices
 * @property {number} marker_count @property {Marker[]} markers
 */

/** Whether something of a session still changes by itself. @param {Recording} session */
export function isRunning({ state }) {
    return ["preparing", "armed", "recording", "stopping"].includes(state);
}

/** Whether a session can be stopped. @param {Recording} session */
export function canStop({ state }) {
    return ["preparing", "armed", "recording"].includes(state);
}

/** What a session is doing, with its count-down. @param {Recording} session @param {number} now */
export function progressText(session, now) {
    const { state, start, end, devices } = session;
    const left = (until) => duration(Math.max(0, (until - now) / 1e6));
    if (state === "preparing") {
        const ready = devices.filter(({ problem }) => !problem).length;
        return `${ready} of ${devices.length} devices ready, starts at the latest in ${left(session.created + session.within_s * 1e6)}`;
    }
    if (start !== undefined && end === undefined && now < start) return `Starts in ${left(start)}`;
    if (state === "recording" && start !== undefined) {
        const stops = session.for_s === undefined ? "" : `, stops in ${left(start + session.for_s * 1e6)}`;
        return `For ${duration((now - start) / 1e6)}${stops}`;
    }
    if (state === "stopping") return "Waiting for what is on its way";
    return start !== undefined && end !== undefined ? duration((end - start) / 1e6) : "";
}

/** The labels as they are typed. @param {Record<string, string>} labels */
export function labelsText(labels) {
    return Object.entries(labels).map(([key, value]) => `${key}=${value}`).join(", ");
}

/** Returns the labels of a text such as `subject=7, shoes=new`; null if it is none. @param {string} text @returns {Record<string, string>|null} */
export function labelsOf(text) {
    const pairs = text.split(",").map((part) => part.trim()).filter(Boolean).map((part) => part.split(/=(.*)/s).slice(0, 2).map((side) => side.trim()));
    return pairs.every(([key, value]) => key && value !== undefined) ? Object.fromEntries(pairs) : null;
}

/** The request that changes labels: those that are gone are null. @param {Record<string, string>} before @param {Record<string, string>} after */
export function labelChanges(before, after) {
    return { ...Object.fromEntries(Object.keys(before).map((key) => [key, /** @type {string|null} */ (null)])), ...after };
}

/** The streams whose rates are shown: those that were asked for, or else those that arrive. @param {Recording} session @param {Record<string, number>[]} arriving */
export function streamsOf({ rates }, arriving) {
    const asked = Object.keys(rates);
    return (asked.length ? asked : [...new Set(arriving.flatMap((each) => Object.keys(each)))]).sort();
}

/** The range of a session that plots show, with a little before and after it; null before it has one. @param {Recording} session @returns {{live: boolean, from: number, to: number}|null} */
export function sessionRange({ start, end }) {
    if (start === undefined || end === undefined || end <= start) return null;
    const margin = Math.max(100_000, (end - start) * 0.02);
    return { live: false, from: start - margin, to: end + margin };
}

/** Whether the second request of a marker has changed anything. @param {Marker} a @param {Marker} b */
export function isSameMarker(a, b) {
    return a.id === b.id && a.t === b.t && a.text === b.text && a.value === b.value && a.duration_s === b.duration_s;
}

/**
 * The gaps of all streams in order of time.
 * @param {{device: string, stream: string, gaps: {from: number, to: number, count: number}[]}[]} streams
 */
export function gapsOf(streams) {
    return streams.flatMap(({ device, stream, gaps }) => gaps.map((gap) => ({ device, stream, ...gap }))).sort((a, b) => a.from - b.from);
}
