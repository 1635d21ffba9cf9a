/** What of a view is in its address: a link shows the same to others. Pure functions; times in µs. */

import { liveView, recentView } from "./view.js";

/**
 * @typedef {{group: string, device: string, session?: string, stream: string, columns: string[]|null, axis: {low: number, high: number}|null}} PlotAddress
 *   `session` is the second one of a comparison, if the samples are of it; `columns` are those that are shown, null for the usual ones; `axis` are fixed limits of the value axis
 */

/** Returns a plot as in `lab/left:motion/accelerometer:x,y:-2..2`, or `lab/left@walk-4:…` of another session. @param {PlotAddress} plot */
export function plotText({ group, device, session, stream, columns, axis }) {
    const parts = [`${group}/${device}${session ? `@${session}` : ""}`, stream];
    if (columns || axis) parts.push(columns ? columns.join(",") : "*");
    if (axis) parts.push(`${axis.low}..${axis.high}`);
    return parts.join(":");
}

/** Returns a plot of several streams: their texts, separated by spaces. @param {PlotAddress[]} plots */
export function plotsText(plots) {
    return plots.map(plotText).join(" ");
}

/** @param {string} text @returns {PlotAddress[]} */
export function plotsOf(text) {
    return text.split(" ").flatMap((plot) => plotOf(plot) ?? []);
}

/** @param {string} text @returns {PlotAddress|null} */
export function plotOf(text) {
    const [address, stream, columns = "*", limits = ""] = text.split(":");
    const [group, name = ""] = address.split("/");
    const [device, session] = name.split("@");
    if (!group || !device || !stream) return null;
    const [low, high] = limits.split("..").map(Number);
    return { group, device, ...(session ? { session } : {}), stream, columns: columns === "*" ? null : columns.split(",").filter(Boolean), axis: high > low ? { low, high } : null };
}

/**
 * Returns the time range as parameters: `span` of a range that follows the time, `from` and `to` of one that does not.
 * @param {import("./view.js").TimeView} view @returns {Record<string, string>}
 */
export function rangeParameters(view) {
    if (view.live) return {};
    if (view.follows) return { span: String(Math.round((view.to - view.from) / 1e6)) };
    return { from: String(Math.round(view.from)), to: String(Math.round(view.to)) };
}

/** Returns the range of an address; null if it has none that is valid. @param {URLSearchParams} query @param {number} now @returns {import("./view.js").TimeView|null} */
export function rangeOf(query, now) {
    const number = (name) => (/^\d{1,16}$/.test(query.get(name) ?? "") ? Number(query.get(name)) : NaN);
    if (number("span") > 0) return recentView(now, number("span") * 1e6);
    if (number("to") > number("from")) return { live: false, from: number("from"), to: number("to") };
    return null;
}

/** Returns the time of the mark; null if there is none. @param {URLSearchParams} query */
export function markOf(query) {
    const text = query.get("at") ?? "";
    return /^\d{1,16}$/.test(text) ? Number(text) : null;
}

/** Returns the parameters of a link to a moment: the range stands still, and has a mark. @param {import("./view.js").TimeView} view @param {number} at */
export function momentParameters(view, at) {
    return { from: String(Math.round(view.from)), to: String(Math.round(view.to)), at: String(Math.round(at)) };
}

/** Returns the plot of a link to an event; empty without a stream. @param {string} address GROUP/DEVICE @param {string|null} stream */
export function eventPlot(address, stream) {
    const [group, device] = address.split("/");
    return stream ? plotText({ group, device, stream, columns: null, axis: null }) : "";
}

/** Returns the parameters of a link to an event: a few minutes around its time. @param {number} t */
export function eventParameters(t) {
    return momentParameters({ ...liveView(t), from: t - 150e6, to: t + 150e6 }, t);
}
