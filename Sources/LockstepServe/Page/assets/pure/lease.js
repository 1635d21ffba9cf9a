/** Leases of rates. Pure functions. */

import { rate } from "./format.js";

/** Returns the rate of a lease in words. @param {number|"source"|null|undefined} hz "source" for that of the source */
export function leaseRate(hz) {
    return typeof hz === "number" ? rate(hz) : "the rate of its source";
}

/**
 * Returns the rate in Hz that is proposed for a lease: a high one for motion, and otherwise the present one, because
 * streams such as steps have no other.
 * @param {string} stream @param {number|null|undefined} present Hz
 */
export function proposedRate(stream, present) {
    if (stream.startsWith("motion/")) return 200;
    return present ? Number(present.toPrecision(2)) : 1;
}

/**
 * Returns the time until a lease ends as m:ss or h:mm:ss; 0:00 if it has ended.
 * @param {number} until µs @param {number} now µs
 */
export function remaining(until, now) {
    const seconds = Math.max(0, Math.ceil((until - now) / 1e6));
    const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0"));
    const hours = Math.floor(seconds / 3600);
    return hours ? `${hours}:${parts.join(":")}` : `${Math.floor(seconds / 60)}:${parts[1]}`;
}
