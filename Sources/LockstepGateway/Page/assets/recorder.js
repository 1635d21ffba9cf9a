/** Collects samples, and writes them to the queue as batches: once a second, and whenever the state of the page changes. */

import { Collection } from "./pure/collection.js";
import { randomID } from "./pure/identity.js";
import { Rate } from "./pure/rate.js";

const INTERVAL = 1000;
/** A visible page reports its state at least this often. */
const HEARTBEAT = 10_000;
/** Samples that are kept in memory while the browser's database takes none. */
const MOST_UNWRITTEN = 20_000;

export class Recorder extends EventTarget {
    /** @type {"active"|"background"|"resumed"|"terminated"} */
    state = "terminated";
    /** @type {Map<string, Rate>} */
    rates = new Map();
    samples = 0;
    dropped = 0;
    /** @type {string|null} why batches cannot be written */
    problem = null;
    #collection = new Collection();
    #queue;
    #onwritten;
    #address = { group: "", device: "" };
    #epoch = randomID();
    #seq = 0;
    #timer = 0;
    #lastCut = 0;
    /** Batches that are being written. */
    #writing = 0;

    /** @param {import("./queue.js").Queue} queue @param {() => void} onwritten */
    constructor(queue, onwritten) {
        super();
        this.#queue = queue;
        this.#onwritten = onwritten;
    }

    get isRunning() {
        return this.#timer !== 0;
    }

    /** @param {{group: string, device: string}} address */
    start(address) {
        this.#address = address;
        this.#epoch = randomID();
        this.#seq = 0;
        this.#timer = setInterval(() => this.#tick(), INTERVAL);
        this.report("active", "start");
    }

    stop() {
        if (!this.isRunning) return;
        clearInterval(this.#timer);
        this.#timer = 0;
        this.report("terminated", "stop");
    }

    add = (stream, time, values) => {
        if (!this.isRunning) return;
        this.#collection.add(stream, time, values);
        this.samples += 1;
        if (!this.rates.has(stream)) this.rates.set(stream, new Rate());
        this.rates.get(stream).count(performance.now());
    };

    /** The clock was set: later samples may have earlier times. */
    restartTimes() {
        this.#collection.restart();
    }

    /**
     * Writes the samples and a new state at once.
     * @param {any} state @param {string} reason
     * @param {((batch: import("./queue.js").Batch) => void)|null} onlast gets the batch if the page may not live until it is
     *   written, and all earlier batches are written
     */
    report(state, reason, onlast = null) {
        const isFirst = this.#writing === 0;
        this.state = state;
        const batch = this.#cut(reason);
        if (isFirst && this.#writing === 1) onlast?.(batch);
        // The next batches are those of a page that is in use again.
        if (state === "resumed") this.state = "active";
        this.dispatchEvent(new Event("change"));
    }

    #tick() {
        const isDue = this.state === "active" && performance.now() - this.#lastCut >= HEARTBEAT;
        if (this.#collection.size || isDue) this.#cut();
    }

    #cut(reason) {
        this.#lastCut = performance.now();
        let batch;
        do {
            batch = this.#batch(this.#collection.take(), reason);
            this.#write(batch);
        } while (this.#collection.size);
        return batch;
    }

    #batch(streams, reason) {
        this.#seq += 1;
        return { ...this.#address, epoch: this.#epoch, seq: this.#seq, made: Date.now(), state: this.state, ...(reason ? { reason } : {}), streams };
    }

    async #write(batch) {
        this.#writing += 1;
        try {
            await this.#queue.add(batch);
            this.problem = null;
            this.#onwritten();
        } catch (error) {
            // Its number is not used again.
            if (this.#epoch === batch.epoch) {
                this.#epoch = randomID();
                this.#seq = 0;
            }
            this.dropped += this.#collection.restore(batch.streams, MOST_UNWRITTEN);
            this.problem = error?.name === "QuotaExceededError" ? "The storage of the browser is full. Free some space on the phone." : `The browser cannot store samples: ${error?.message ?? error}`;
        } finally {
            this.#writing -= 1;
        }
        this.dispatchEvent(new Event("change"));
    }
}
