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
 * @param {{sensors: {motion: string, location: string}, sender: string, problem: {kind: string, detail: string, status?: number}|null, unwritten: string|null, dropped: number, waiting: number, isAwake: boolean}} parts
 * @returns {{kind: "ok"|"warn"|"bad", title: string, text: string}}
 */
export function statusOf({ sensors, sender, problem, unwritten, dropped, waiting, isAwake }) {
    if (unwritten !== null || dropped > 0) {
        return { kind: "bad", title: "Samples cannot be stored", text: [unwritten, dropped > 0 ? `${dropped} samples were dropped.` : null].filter(Boolean).join(" ") };
    }
    if (sender === "stopped") return { kind: "bad", title: "Not sending", text: "Samples stay on this phone until the problem below is solved." };
    // The last reply counts, also while the next request is on its way. What the browser believes about the network says
    // nothing about the gateway.
    if (problem?.kind === "later") {
        return problem.status === 0
            ? { kind: "warn", title: "No connection to the gateway", text: "Samples stay on this phone, and are sent as soon as the connection is back." }
            : { kind: "warn", title: "The gateway takes no samples now", text: "Samples stay on this phone, and are sent as soon as the gateway takes them." };
    }
    if (!Object.values(sensors).includes("running")) return sensorProblem(sensors);
    if (waiting > 5) return { kind: "ok", title: "Catching up", text: "Earlier samples are being sent." };
    return { kind: "ok", title: "Measuring", text: isAwake ? "Keep this page open. The screen stays on." : "Keep this page open and the screen on." };
}

/** Why nothing is measured. @param {{motion: string, location: string}} sensors @returns {{kind: "warn", title: string, text: string}} */
function sensorProblem({ motion, location }) {
    const text = `Motion: ${SENSOR_TEXTS[motion]}. Location: ${SENSOR_TEXTS[location]}.`;
    const isFinal = [motion, location].every((status) => status === "absent" || status === "denied");
    if (!isFinal) return { kind: "warn", title: "Waiting for the first samples", text };
    const advice = motion === "denied" || location === "denied" ? "Allow this page to use the sensors in the settings of the browser." : "Open this page on a phone with sensors.";
    return { kind: "warn", title: "No sensor of this phone can be read", text: `${text} ${advice}` };
}
