/** The server's clock, which ages are computed with. The browser's clock may be wrong. */

let offset = 0;
let isKnown = false;

/** Takes the server's time at the arrival of a message into account. @param {number} at µs since 1970 */
export function observe(at) {
    const seen = at - Date.now() * 1000;
    // Messages are only ever late: the largest difference is the closest one. It decays, because clocks drift.
    if (!isKnown || seen > offset || offset - seen > 5e6) offset = seen;
    else offset += (seen - offset) * 0.01;
    isKnown = true;
}

/** The server's time in µs since 1970. */
export function now() {
    return (performance.timeOrigin + performance.now()) * 1000 + offset;
}
