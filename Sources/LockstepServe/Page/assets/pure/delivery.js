/** Which batches of a device are not stored: missing ones, and those on their way. Pure functions. */

import { counted } from "./format.js";

/** Returns the figure "Missing" of a device. @param {import("../core/api.js").Device} device */
export function deliveryText(device) {
    const parts = [];
    if (device.missing > 0) parts.push(counted(device.missing, "batch", "batches"));
    if (device.on_its_way > 0) parts.push(`${counted(device.on_its_way, "batch", "batches")} on the way`);
    return parts.length ? parts.join(", ") : "none";
}

/**
 * Returns whether everything is stored: a level of the problem ("ok" if there is none), the name of an icon, and a text.
 * @param {{samples: number, missing: number, on_its_way: number, dropped_batches: number, dropped_samples: number}} health
 * @returns {[string, string, string]}
 */
export function deliveryVerdict(health) {
    if (health.samples === 0) return ["0", "info", "No samples are stored yet"];
    if (health.missing > 0) {
        const text = counted(health.missing, "batch is", "batches are");
        return ["2", "alert", `${text} missing: not in the store, and the device no longer has ${health.missing === 1 ? "it" : "them"}`];
    }
    if (health.dropped_batches > 0 || health.dropped_samples > 0) return ["2", "alert", "The device dropped samples: its outbox reached its size or age limit"];
    if (health.on_its_way > 0) {
        return ["0", "info", `${counted(health.on_its_way, "batch is", "batches are")} on the way: the device still has ${health.on_its_way === 1 ? "it" : "them"}, as far as it has reported`];
    }
    return ["ok", "check", "Every batch that the device sent is stored"];
}
