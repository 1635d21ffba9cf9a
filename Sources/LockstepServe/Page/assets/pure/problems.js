/** What is wrong with a device. Pure functions; the fleet is sorted by their result. */

import { age, counted, isAhead, percent } from "./format.js";

/**
 * @typedef {object} Problem
 * @property {0|1|2} level 2: samples are missing or not arriving; 1: soon; 0: worth knowing
 * @property {string} text
 */

/** An active device without samples for this long is reported, in s. Streams such as `battery` alone are slower. */
const QUIET_AFTER = 15;

/**
 * Returns the problems of a device, the worst first.
 * @param {import("../core/api.js").Device} device
 * @param {number} now µs since 1970
 * @returns {Problem[]}
 */
export function problemsOf(device, now) {
    /** @type {Problem[]} */
    const found = [];
    const add = (level, text) => found.push({ level, text });
    const sinceText = device.since ? age((now - device.since) / 1e6) : "";
    if (device.state === "background" && device.reason === "connection-lost") add(2, `Connection lost for ${sinceText}`);
    if (device.state === "background" && device.reason === "silent") add(2, ["Silent", quietFor(device, now)].filter(Boolean).join(" for "));
    if (device.conflicts > 0) add(2, `${counted(device.conflicts, "conflict")}: same time, different values`);
    if (device.dropped_samples > 0) add(2, `${counted(device.dropped_samples, "sample")} dropped by the device`);
    if (device.missing > 0) add(2, `${counted(device.missing, "batch", "batches")} missing`);
    if (isActive(device) && isFast(device) && device.last_sample && (now - device.last_sample) / 1e6 > QUIET_AFTER) {
        add(1, `No samples for ${quietFor(device, now)}`);
    }
    for (const [source, status] of Object.entries(device.sources ?? {})) {
        if (status !== "running" && device.state !== "terminated") add(1, `Source ${source}: ${status}`);
    }
    const battery = device.battery;
    if (battery?.level !== null && battery?.level !== undefined && battery.level < 0.15 && battery.charging !== true) {
        if (device.state !== "terminated") add(1, `Battery at ${percent(battery.level)}`);
    }
    if (device.on_its_way > 0) add(0, `${counted(device.on_its_way, "batch", "batches")} on the way`);
    if (device.isStale) add(0, "State not known at present");
    else if (device.state === null || device.state === undefined) add(0, "No state reported yet");
    return found.sort((a, b) => b.level - a.level);
}

/** Returns a number by which devices with worse problems come first: −1 if there is no problem. @param {Problem[]} problems */
export function severity(problems) {
    return problems.length ? problems[0].level : -1;
}

/** Whether samples are expected from it. @param {import("../core/api.js").Device} device */
export function isActive(device) {
    return device.state === "active" || device.state === "resumed";
}

/** Whether it has a stream that should never pause for long. @param {import("../core/api.js").Device} device */
function isFast(device) {
    return (device.streams ?? []).some((name) => name.startsWith("motion/"));
}

/**
 * The time since the last sample, or since the change of state if the sample has a time in the future; else nothing.
 * @param {import("../core/api.js").Device} device @param {number} now
 */
function quietFor(device, now) {
    const last = [device.last_sample, device.since].find((time) => time !== null && time !== undefined && !isAhead((now - time) / 1e6));
    return last === undefined ? "" : age((now - last) / 1e6);
}
