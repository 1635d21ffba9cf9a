/** Positions: distances, tracks, graticules. Pure functions. */

import { roundLength } from "./scale.js";

const EARTH_RADIUS = 6_371_008.8;
const RADIANS = Math.PI / 180;

/**
 * Returns the distance of two positions in m.
 * @param {{lat: number, lon: number}} a @param {{lat: number, lon: number}} b
 */
export function distance(a, b) {
    const dLat = (b.lat - a.lat) * RADIANS;
    const dLon = (b.lon - a.lon) * RADIANS;
    const h = Math.sin(dLat / 2) ** 2 + Math.cos(a.lat * RADIANS) * Math.cos(b.lat * RADIANS) * Math.sin(dLon / 2) ** 2;
    return 2 * EARTH_RADIUS * Math.asin(Math.min(1, Math.sqrt(h)));
}

/**
 * @typedef {object} Fix
 * @property {number} t µs @property {number} lat @property {number} lon @property {number|null} hacc m
 * @property {number|null} [alt] @property {number|null} [speed] @property {number|null} [course] @property {number|null} [at] µs
 */

/** A fix that was this old when it was published is stale, in µs. */
const STALE_AFTER = 10e6;

/** Whether the receiver repeated an old fix. @param {Fix} fix */
export function isStale(fix) {
    return fix.at !== null && fix.at !== undefined && fix.t - fix.at > STALE_AFTER;
}

/**
 * Returns the fixes that a distance filter keeps: each at least `metres` from the previous one kept.
 * @param {Fix[]} fixes @param {number} metres @returns {Fix[]}
 */
export function distanceFilter(fixes, metres) {
    if (!(metres > 0)) return fixes;
    const kept = [];
    let last = null;
    for (const fix of fixes) {
        if (last === null || distance(last, fix) >= metres) {
            kept.push(fix);
            last = fix;
        }
    }
    return kept;
}

/**
 * Splits a track where fixes are missing for longer than `gap`, or where the fixes become stale or fresh.
 * @param {Fix[]} fixes @param {number} gap µs
 * @returns {{stale: boolean, fixes: Fix[]}[]}
 */
export function segments(fixes, gap) {
    const parts = [];
    let part = null;
    for (const fix of fixes) {
        const stale = isStale(fix);
        const previous = part?.fixes[part.fixes.length - 1];
        if (!part || fix.t - previous.t > gap) {
            part = { stale, fixes: [fix] };
            parts.push(part);
        } else if (part.stale !== stale) {
            part = { stale, fixes: [previous, fix] };
            parts.push(part);
        } else {
            part.fixes.push(fix);
        }
    }
    return parts;
}

/** Returns the length of a track in m, without the jumps over gaps. @param {{fixes: Fix[]}[]} parts */
export function trackLength(parts) {
    let sum = 0;
    for (const { fixes } of parts) for (let i = 1; i < fixes.length; i += 1) sum += distance(fixes[i - 1], fixes[i]);
    return sum;
}

/**
 * Returns the lines of a graticule in degrees.
 * @param {number} low @param {number} high degrees @param {number} count about how many lines
 */
export function graticule(low, high, count) {
    const raw = (high - low) / Math.max(1, count);
    const large = [1, 2, 5, 10, 15, 30, 45, 90].find((degrees) => degrees >= raw) ?? 90;
    const step = raw > 0.5 ? large : roundLength(raw * 2);
    const lines = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) lines.push(k * step);
    return { lines, step, decimals: Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9))) };
}

/**
 * Returns whom a map has to name for its tiles: the licence of OpenStreetMap's own servers asks for its contributors; of
 * other servers only the host is known.
 * @param {string} tiles address with placeholders
 */
export function tileAttribution(tiles) {
    return isOpenStreetMap(tiles) ? "© OpenStreetMap contributors" : `Tiles: ${hostOf(tiles)}`;
}

/** Whether tiles come from OpenStreetMap's own servers. @param {string} tiles address with placeholders */
export function isOpenStreetMap(tiles) {
    return /(^|\.)openstreetmap\.(org|de|fr)$/.test(hostOf(tiles));
}

function hostOf(tiles) {
    return (/^https?:\/\/([^/?#]+)/.exec(tiles)?.[1] ?? "").replace(/^.*@/, "").replace(/^\{[a-z]+\}\./, "").replace(/:\d+$/, "").toLowerCase();
}
