/** Which samples and batches of devices are stored, missing, or on their way. Pure functions. */

import { compact, counted, UNKNOWN } from "./format.js";

/** Returns the figure "Missing" of a device. @param {import("../core/api.js").Device} device */
export function deliveryText(device) {
    if (device.missing === null) return UNKNOWN;
    const parts = [];
    if (device.missing > 0) parts.push(counted(device.missing, "batch", "batches"));
    if ((device.on_its_way ?? 0) > 0) parts.push(`${counted(/** @type {number} */ (device.on_its_way), "batch", "batches")} on the way`);
    return parts.length ? parts.join(", ") : "none";
}

/**
 * Returns what is promised about the samples of some devices: how many are stored, and what is on its way. It is amber
 * while new ones are not stored, or nobody knows.
 * @param {Pick<import("../core/api.js").Device, "group"|"stored"|"on_its_way">[]} devices @param {"ok"|"away"|"unknown"} storing of all
 * @param {(group: string) => "ok"|"away"|"unknown"} storingOf a group
 * @returns {{kind: "ok"|"warn", text: string, short: string}} `short` is for narrow windows
 */
export function promiseOf(devices, storing, storingOf) {
    const known = devices.filter(({ stored }) => stored !== null && stored !== undefined);
    if (devices.length > 0 && known.length === 0) return { kind: storing === "ok" ? "ok" : "warn", text: "Stored samples not known", short: "Not known" };
    const sum = (name, some = known) => some.reduce((total, device) => total + (device[name] ?? 0), 0);
    const stored = `${counted(sum("stored"), "sample")} stored`;
    const short = `${compact(sum("stored"))} stored`;
    if (storing === "away") {
        // Devices reported these before; how many have been added since is not known. Those of other groups are being stored.
        const waiting = sum("on_its_way", known.filter(({ group }) => storingOf(group) === "away"));
        const text = waiting ? `${counted(waiting, "batch", "batches")} and new samples wait on the devices` : "new ones wait on the devices";
        return { kind: "warn", text: `${stored}, ${text}`, short: `${short}, ${waiting ? `${compact(waiting)}+ wait` : "new ones wait"}` };
    }
    if (storing === "unknown") return { kind: "warn", text: `${stored} when last known`, short: `${short} when last known` };
    const onTheWay = sum("on_its_way");
    return { kind: "ok", text: `${stored}, ${onTheWay ? counted(onTheWay, "batch", "batches") : "none"} on the way`, short: onTheWay ? `${short}, ${compact(onTheWay)} on the way` : short };
}

/**
 * Returns whether everything is stored: a level of the problem ("ok" if there is none), the name of an icon, and a text.
 * @param {{samples: number, missing: number, on_its_way: number, dropped_batches: number, dropped_samples: number}} health
 * @param {{storing: "ok"|"away"|"unknown", reason: string}} present whether new samples are stored, and why not
 * @returns {[string, string, string]}
 */
export function deliveryVerdict(health, { storing, reason } = { storing: "ok", reason: "" }) {
    if (health.missing > 0) {
        const text = counted(health.missing, "batch is", "batches are");
        return ["2", "alert", `${text} missing: not in the store, and the device no longer has ${health.missing === 1 ? "it" : "them"}`];
    }
    if (health.dropped_batches > 0 || health.dropped_samples > 0) return ["2", "alert", "The device dropped samples: its outbox reached its size or age limit"];
    // What the store contains says nothing about what it does not receive.
    if (storing === "away") return ["1", "warning", `New samples are not stored: ${reason}. The device keeps them`];
    if (storing === "unknown") return ["0", "info", "Whether new samples are stored is not known"];
    if (health.samples === 0) return ["0", "info", "No samples are stored yet"];
    if (health.on_its_way > 0) {
        return ["0", "info", `${counted(health.on_its_way, "batch is", "batches are")} on the way: the device still has ${health.on_its_way === 1 ? "it" : "them"}, as far as it has reported`];
    }
    return ["ok", "check", "Every batch that the device sent is stored"];
}
