/** Loads the rates of the last two minutes from the store for the devices in view, a few at a time. */

import { request, streamPath } from "../core/api.js";
import { now } from "../core/clock.js";
import { fleet, HISTORY_LENGTH, HISTORY_STEP } from "../core/fleet-store.js";
import { mainStream } from "../pure/selection.js";

const AT_ONCE = 2;
/** Rows that are only scrolled past are not loaded. */
const SETTLE = 250;

export class History {
    /** @type {string[]} */
    #queue = [];
    /** @type {Set<string>} */
    #done = new Set();
    #running = 0;
    #timer = 0;
    #abort = new AbortController();

    /** @param {string[]} keys */
    want(keys) {
        const missing = keys.filter((key) => !this.#done.has(key));
        if (missing.join() === this.#queue.join()) return;
        this.#queue = missing;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#next(), SETTLE);
    }

    close() {
        clearTimeout(this.#timer);
        this.#abort.abort();
        this.#queue = [];
    }

    #next() {
        while (this.#running < AT_ONCE && this.#queue.length) {
            const key = /** @type {string} */ (this.#queue.shift());
            this.#done.add(key);
            this.#running += 1;
            this.#load(key).catch(() => {}).finally(() => {
                this.#running -= 1;
                this.#next();
            });
        }
    }

    /** @param {string} key */
    async #load(key) {
        const device = fleet.entries.get(key)?.device;
        const stream = device && mainStream(device);
        if (!device || !stream) return;
        const end = Math.floor(now() / HISTORY_STEP);
        const from = (end - HISTORY_LENGTH) * HISTORY_STEP;
        const reply = await request(streamPath(device.group, device.device, stream), { query: { from, to: end * HISTORY_STEP, every: `${HISTORY_STEP / 1e6}s` }, signal: this.#abort.signal });
        const history = fleet.historyOf(key);
        const later = Math.floor(now() / HISTORY_STEP) - end;
        // The newest buckets are not complete yet: samples arrive in batches.
        const complete = HISTORY_LENGTH - later - 2;
        const place = (row) => Math.round(row[0] / HISTORY_STEP) - (end - HISTORY_LENGTH) - later;
        // Before its first samples the device may not have existed; after them, no row means no samples.
        const first = reply.rows.length ? place(reply.rows[0]) : complete;
        for (let i = Math.max(0, first); i < complete; i += 1) if (Number.isNaN(history[i])) history[i] = 0;
        for (const row of reply.rows) {
            const i = place(row);
            if (i >= 0 && i < complete) history[i] = row[1] / (HISTORY_STEP / 1e6);
        }
        fleet.historyVersion += 1;
        const newest = device.rates?.[stream] ?? NaN;
        for (let i = Math.max(0, complete); i < HISTORY_LENGTH; i += 1) if (Number.isNaN(history[i])) history[i] = newest;
    }
}
