/** All devices, kept up to date by the server, and the state of the connection to it. */

import { problemsOf, severity } from "../pure/problems.js";
import { mainStream, sortedByName } from "../pure/selection.js";
import { request } from "./api.js";
import { now, observe } from "./clock.js";
import { openEvents } from "./event-stream.js";

/** Rates of the last two minutes, one value for each two seconds, for the sparklines. */
export const HISTORY_STEP = 2e6;
export const HISTORY_LENGTH = 60;

class FleetStore extends EventTarget {
    /** @type {Map<string, import("../pure/selection.js").Entry>} */
    entries = new Map();
    /** @type {Map<string, Float32Array>} by device; the newest value is the last one, NaN is unknown */
    histories = new Map();
    /** @type {"connecting"|"open"|"lost"} */
    status = "connecting";
    hasLoaded = false;
    /** @type {number|null} */
    lostSince = null;
    /** Changes with each change of a history. */
    historyVersion = 0;
    #historyAt = 0;
    /** @type {string[]} */
    #names = [];
    /** @type {{close: () => void}|null} */
    #events = null;

    start() {
        this.#events?.close();
        this.#events = openEvents("/api/v1/fleet?every=1s", { devices: (data) => this.#receive(data) }, (status) => this.#setStatus(status));
        setInterval(() => this.#tick(), 1000);
        this.start = () => {
            this.#events?.close();
            this.#events = openEvents("/api/v1/fleet?every=1s", { devices: (data) => this.#receive(data) }, (s) => this.#setStatus(s));
        };
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

    /** @param {{at: number, devices: import("./api.js").Device[], forgotten?: {group: string, device: string}[]}} data */
    #receive({ at, devices, forgotten = [] }) {
        observe(at);
        for (const { group, device } of forgotten) {
            this.entries.delete(`${group}/${device}`);
            this.histories.delete(`${group}/${device}`);
            // Another device may come in the same event, and the number would be the same.
            this.#names = [];
        }
        for (const device of devices) this.#update(device);
        this.hasLoaded = true;
        this.dispatchEvent(new Event("change"));
    }

    /** @param {import("./api.js").Device} device */
    #update(device) {
        const problems = problemsOf(device, now());
        this.entries.set(`${device.group}/${device.device}`, { device, problems, severity: severity(problems) });
    }

    /** Ages change without messages: recompute problems, and shift the histories. */
    #tick() {
        for (const { device } of this.entries.values()) this.#update(device);
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
            history[HISTORY_LENGTH - 1] = isNewest && this.status === "open" ? currentRate(device) : NaN;
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

    /** @param {"connecting"|"open"|"lost"} status */
    #setStatus(status) {
        if (status === "lost" && this.status !== "lost") {
            this.lostSince ??= Date.now();
            // Events tell no status code: ask whether a token is needed now.
            request("/devices", { query: { group: "-" } }).catch(() => {});
        }
        if (status === "open") this.lostSince = null;
        // While it retries, the connection is still lost for the reader.
        this.status = status === "connecting" && this.lostSince !== null ? "lost" : status;
        this.dispatchEvent(new Event("status"));
    }
}

/** @param {import("./api.js").Device} device */
function currentRate(device) {
    const stream = mainStream(device);
    return stream ? (device.rates?.[stream] ?? 0) : NaN;
}

export const fleet = new FleetStore();
