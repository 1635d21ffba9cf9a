/** All devices, kept up to date by the server. */

import { asKnown } from "../pure/parts.js";
import { problemsOf, severity } from "../pure/problems.js";
import { mainStream, sortedByName } from "../pure/selection.js";
import { now, observe } from "./clock.js";
import { link } from "./link.js";
import { parts } from "./parts.js";

/** Rates of the last two minutes, one value for each two seconds, for the sparklines. */
export const HISTORY_STEP = 2e6;
export const HISTORY_LENGTH = 60;

class FleetStore extends EventTarget {
    /** @type {Map<string, import("../pure/selection.js").Entry & {reported: import("./api.js").Device}>} with each device as it is known, and as it was reported */
    entries = new Map();
    /** @type {Map<string, Float32Array>} by device; the newest value is the last one, NaN is unknown */
    histories = new Map();
    hasLoaded = false;
    /** Changes with each change of a history. */
    historyVersion = 0;
    #historyAt = 0;
    /** @type {string[]} */
    #names = [];

    start() {
        link.addEventListener("devices", (event) => this.#receive(/** @type {CustomEvent} */ (event).detail));
        link.addEventListener("time", (event) => observe(/** @type {CustomEvent} */ (event).detail.at));
        // What is known of all devices depends on the parts that report it.
        parts.addEventListener("change", () => {
            if (!this.hasLoaded) return;
            for (const entry of this.entries.values()) this.#update(entry.reported);
            this.dispatchEvent(new Event("change"));
        });
        setInterval(() => this.#tick(), 1000);
    }

    /** Shows the devices that the page has from the server already, until the connection has newer ones. @param {string} text */
    begin(text) {
        if (!text) return;
        let written;
        try {
            written = JSON.parse(text);
        } catch {
            // The connection has them soon.
            return;
        }
        const { at, devices } = written;
        this.#receive({ at: at ?? null, isAll: true, devices, forgotten: [] });
    }

    /** @param {string} group @param {string} device */
    get(group, device) {
        return this.entries.get(`${group}/${device}`)?.device ?? null;
    }

    /** All entries in the order of their names. */
    sorted() {
        if (this.#names.length !== this.entries.size) {
            this.#names = sortedByName([...this.entries.values()]).map(({ device }) => `${device.group}/${device.device}`);
        }
        return this.#names.map((key) => /** @type {any} */ (this.entries.get(key)));
    }

    /** All groups in order. */
    groups() {
        return [...new Set([...this.entries.values()].map(({ device }) => device.group))].sort();
    }

    /** @param {{at: number|null, isAll: boolean, devices: import("./api.js").Device[], forgotten: {group: string, device: string}[]}} data */
    #receive({ at, isAll, devices, forgotten }) {
        if (at !== null) observe(at);
        const present = isAll ? new Set(devices.map(({ group, device }) => `${group}/${device}`)) : null;
        const gone = present ? [...this.entries.keys()].filter((key) => !present.has(key)) : forgotten.map(({ group, device }) => `${group}/${device}`);
        for (const key of gone) {
            this.entries.delete(key);
            this.histories.delete(key);
            // Another device may come in the same event, and the number would be the same.
            this.#names = [];
        }
        for (const device of devices) this.#update(device);
        this.hasLoaded = true;
        this.dispatchEvent(new Event("change"));
    }

    /** @param {import("./api.js").Device} device */
    #update(device) {
        const known = asKnown(device, parts.value);
        const problems = problemsOf(known, now());
        this.entries.set(`${device.group}/${device.device}`, { device: known, reported: device, problems, severity: severity(problems) });
    }

    /** Ages change without messages: recompute problems, and shift the histories. */
    #tick() {
        for (const { reported } of this.entries.values()) this.#update(reported);
        const step = Math.floor(now() / HISTORY_STEP);
        if (this.#historyAt === 0) this.#historyAt = step;
        for (; this.#historyAt < step; this.#historyAt += 1) this.#shift(this.#historyAt === step - 1);
        this.dispatchEvent(new Event("tick"));
    }

    /** @param {boolean} isNewest the values for earlier steps are not known: the page was hidden */
    #shift(isNewest) {
        this.historyVersion += 1;
        for (const [key, { device }] of this.entries) {
            const history = this.historyOf(key);
            history.copyWithin(0, 1);
            history[HISTORY_LENGTH - 1] = isNewest && parts.isLive ? currentRate(device) : NaN;
        }
    }

    /** @param {string} key @returns {Float32Array} */
    historyOf(key) {
        let history = this.histories.get(key);
        if (!history) {
            history = new Float32Array(HISTORY_LENGTH).fill(NaN);
            this.histories.set(key, history);
        }
        return history;
    }
}

/** @param {import("./api.js").Device} device */
function currentRate(device) {
    const stream = mainStream(device);
    return stream ? (device.rates?.[stream] ?? 0) : NaN;
}

export const fleet = new FleetStore();
