/** Samples that are not in a batch yet, by stream. */

/** Longer batches are split: a request stays small. */
export const MOST_SAMPLES = 2000;

export class Collection {
    /** @type {Map<string, any[][]>} */
    #streams = new Map();
    /** @type {Map<string, number>} time of the newest sample, also of earlier batches */
    #newest = new Map();
    size = 0;

    /** Adds a sample. Of samples with one time, the later one is moved by 1 µs. @param {string} stream @param {number} time µs @param {any[]} values */
    add(stream, time, values) {
        const at = Math.max(time, (this.#newest.get(stream) ?? -1) + 1);
        this.#newest.set(stream, at);
        const samples = this.#streams.get(stream);
        if (samples) samples.push([at, ...values]);
        else this.#streams.set(stream, [[at, ...values]]);
        this.size += 1;
    }

    /** Forgets the newest times: the clock was set. */
    restart() {
        this.#newest.clear();
    }

    /** Takes the oldest samples out. @returns {{stream: string, samples: any[][]}[]} */
    take(most = MOST_SAMPLES) {
        const result = [];
        let left = most;
        for (const [stream, samples] of this.#streams) {
            const taken = samples.splice(0, left);
            if (taken.length) result.push({ stream, samples: taken });
            if (!samples.length) this.#streams.delete(stream);
            left -= taken.length;
            this.size -= taken.length;
            if (left <= 0) break;
        }
        return result;
    }

    /** Puts samples back that could not be stored, before the newer ones. Returns how many of the oldest were dropped. */
    restore(streams, most) {
        let dropped = 0;
        for (const { stream, samples } of streams) {
            const all = [...samples, ...(this.#streams.get(stream) ?? [])];
            this.size += samples.length;
            const excess = Math.max(0, Math.min(all.length, this.size - most));
            all.splice(0, excess);
            this.size -= excess;
            dropped += excess;
            if (all.length) this.#streams.set(stream, all);
            else this.#streams.delete(stream);
        }
        return dropped;
    }
}
