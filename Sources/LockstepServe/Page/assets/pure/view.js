/** The visible time range of the plots: zooming and panning. Pure functions; all times in µs. */

import { clamp } from "./scale.js";

/**
 * @typedef {object} TimeView
 * @property {boolean} live whether the right edge follows the time
 * @property {number} from
 * @property {number} to
 * @property {boolean} [follows] whether the newest part of the past is shown, also later
 */

export const LEAST_SPAN = 200_000;
const MOST_SPAN = 31 * 86_400e6;
/** Live charts draw from memory, which has the newest 30 s. */
export const LIVE_SPAN = 30e6;

/** Returns a live view. @param {number} now @returns {TimeView} */
export function liveView(now) {
    return { live: true, from: now - LIVE_SPAN, to: now };
}

/** Returns the view of the newest part of the past, which follows the time. @param {number} now @param {number} span @returns {TimeView} */
export function recentView(now, span) {
    return { live: false, follows: true, from: now - span, to: now };
}

/** Returns the view at a later time: another one only if the difference could be seen. @param {TimeView} view @param {number} now @returns {TimeView} */
export function followed(view, now) {
    const span = view.to - view.from;
    return view.follows && now - view.to >= Math.max(500_000, span / 1500) ? recentView(now, span) : view;
}

/**
 * Returns the view scaled about a time that stays in its place.
 * @param {TimeView} view @param {number} factor below 1 shows less @param {number} about @param {number} now @returns {TimeView}
 */
export function zoomed(view, factor, about, now) {
    const span = clamp((view.to - view.from) * factor, LEAST_SPAN, MOST_SPAN);
    const share = (about - view.from) / (view.to - view.from);
    return limited({ live: false, from: about - span * share, to: about + span * (1 - share) }, now);
}

/** Returns the view moved by a part of its span. @param {TimeView} view @param {number} share @param {number} now @returns {TimeView} */
export function panned(view, share, now) {
    const by = (view.to - view.from) * share;
    return limited({ live: false, from: view.from + by, to: view.to + by }, now);
}

/** Returns the view moved back so that at most a tenth of it is in the future. @param {TimeView} view @param {number} now */
export function limited(view, now) {
    const span = view.to - view.from;
    const latest = now + span * 0.1;
    const over = Math.max(0, view.to - latest);
    const early = Math.max(0, -(view.from - over));
    return { live: false, from: view.from - over + early, to: view.to - over + early };
}

/** Returns the selection between two times in a view. @param {TimeView} view @param {number} a @param {number} b */
export function selected(view, a, b) {
    return { from: clamp(Math.min(a, b), view.from, view.to), to: clamp(Math.max(a, b), view.from, view.to) };
}

/**
 * Returns the selection with its end moved by a hundredth of the view; a new one begins at a time.
 * @param {TimeView} view @param {{from: number, to: number}|null} selection @param {number} start @param {number} by -1 or 1
 */
export function extended(view, selection, start, by) {
    const step = ((view.to - view.from) / 100) * by;
    const { from, to } = selection ?? { from: start, to: start };
    return selected(view, from, to + step);
}

/** Returns the view moved so that it contains a time: the time is then near its start. @param {TimeView} view @param {number} time */
export function showing(view, time) {
    if (view.from <= time && time <= view.to) return view;
    const span = view.to - view.from;
    return { live: false, from: time - span * 0.1, to: time + span * 0.9 };
}
