/** Leases of rates. Pure functions. */

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
