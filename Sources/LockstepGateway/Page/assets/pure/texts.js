/** Texts of the page. Pure functions. */

export const SENSOR_TEXTS = {
    off: "off",
    waiting: "waiting",
    searching: "no position yet",
    denied: "not permitted",
    absent: "not available",
};

/** @param {number} rate events a second */
export function rateText(rate) {
    return rate === 0 ? "no samples" : rate < 10 ? `${rate.toFixed(1)} Hz` : `${Math.round(rate)} Hz`;
}

/** @param {number} time ms since 1970 */
export function clockTime(time) {
    return new Date(time).toLocaleTimeString("en-GB");
}

/**
 * The state of the measurement in a few words.
 * @param {{isOnline: boolean, sender: string, problem: {detail: string}|null, unwritten: string|null, dropped: number, waiting: number, isAwake: boolean}} parts
 * @returns {{kind: "ok"|"warn"|"bad", title: string, text: string}}
 */
export function statusOf({ isOnline, sender, problem, unwritten, dropped, waiting, isAwake }) {
    if (unwritten !== null || dropped > 0) {
        return { kind: "bad", title: "Samples cannot be stored", text: [unwritten, dropped > 0 ? `${dropped} samples were dropped.` : null].filter(Boolean).join(" ") };
    }
    if (sender === "stopped") return { kind: "bad", title: "Not sending", text: "Samples stay on this phone until the problem below is solved." };
    if (!isOnline || (sender === "waiting" && problem)) {
        return { kind: "warn", title: isOnline ? "No connection to the gateway" : "Offline", text: "Samples stay on this phone, and are sent as soon as the connection is back." };
    }
    if (waiting > 5) return { kind: "ok", title: "Catching up", text: "Earlier samples are being sent." };
    return { kind: "ok", title: "Measuring", text: isAwake ? "Keep this page open. The screen stays on." : "Keep this page open and the screen on." };
}
