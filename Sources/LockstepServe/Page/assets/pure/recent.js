/** The newest live samples of some streams, for a window that begins to show one of them. Pure functions and values. */

import { lengthOf, timesOf } from "./batch.js";

/** Live charts show 30 s. */
const KEPT = 35e6;

/** Returns what identifies the stream of a batch. @param {Record<string, any>} batch */
export function streamKey(batch) {
    return `${batch.group}/${batch.device} ${batch.stream}`;
}

export class RecentBatches {
    /** @type {Map<string, {newest: number, batch: any}[]>} */
    #streams = new Map();

    /**
     * Keeps a batch. Returns false if it has no sample that is newer than those before: after a new connection, the server
     * sends the recent samples again.
     * @param {Record<string, any>} batch
     */
    add(batch) {
        const count = lengthOf(batch);
        if (count === 0) return false;
        const newest = timesOf(/** @type {any} */ (batch), count)[count - 1];
        const key = streamKey(batch);
        const batches = this.#streams.get(key) ?? [];
        if (batches.length && newest <= batches[batches.length - 1].newest) return false;
        batches.push({ newest, batch });
        while (batches[0].newest < newest - KEPT) batches.shift();
        this.#streams.set(key, batches);
        return true;
    }

    /** Returns the batches of a stream, the oldest first. @param {string} key */
    of(key) {
        return (this.#streams.get(key) ?? []).map(({ batch }) => batch);
    }

    /** Forgets all other streams. @param {Set<string>} keys */
    keep(keys) {
        for (const key of this.#streams.keys()) if (!keys.has(key)) this.#streams.delete(key);
    }
}
