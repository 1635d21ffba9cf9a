/**
 * What the cards of a device show: the newest samples, or those of a moment in the past. It stands in for the live samples:
 * its streams have the samples around the moment.
 */

import { request, streamPath } from "../core/api.js";
import { chunkOf, isWithin, ringOf } from "../pure/moment.js";

/** Time between the last movement and the request, in ms. */
const SETTLE = 90;
/** Time until a failed request is repeated, in ms. */
const RETRY = 2_000;

export class Moment extends EventTarget {
    /** µs; null for the newest samples. @type {number|null} */
    time = null;
    /** The range of the plots; null before they are drawn. @type {import("../pure/view.js").TimeView|null} */
    view = null;
    /** Seconds of the past in a second, while it is played. */
    speed = 1;
    isPlaying = false;
    /** Whether the time is that of the collector's clock, and not that of each device. */
    isOnCollectorTime = false;
    /** @type {Map<string, {from: number, to: number, stream: import("../core/live.js").LiveStream|null}>} */
    #chunks = new Map();
    /** @type {Map<string, number>} */
    #timers = new Map();
    #abort = new AbortController();

    /** @param {import("../core/live.js").LiveSamples} live */
    constructor(live) {
        super();
        this.live = live;
        live.addEventListener("samples", (event) => this.dispatchEvent(new CustomEvent("samples", { detail: /** @type {CustomEvent} */ (event).detail })));
    }

    /** @param {number|null} time */
    set(time) {
        if (time === this.time) return;
        this.time = time;
        this.dispatchEvent(new Event("change"));
    }

    /** @param {import("../pure/view.js").TimeView} view */
    setView(view) {
        if (view === this.view) return;
        this.view = view;
        this.dispatchEvent(new Event("view"));
    }

    /** @param {boolean} isOn */
    setCollectorTime(isOn) {
        this.isOnCollectorTime = isOn;
        this.#chunks.clear();
    }

    want(address, stream) {
        return this.live.want(address, stream);
    }

    /** @param {string} address group/device @param {string} stream @returns {import("../core/live.js").LiveStream|undefined} */
    get(address, stream) {
        const live = this.live.get(address, stream);
        if (this.time === null || (live && !this.isOnCollectorTime && isWithin(live.ring, this.time))) return live;
        const key = `${address} ${stream}`;
        const have = this.#chunks.get(key);
        const wanted = chunkOf(this.time, this.isPlaying ? this.speed : 1);
        const isCovered = have && have.from <= this.time && this.time < have.to;
        // While it is played, the next samples are loaded before they are needed.
        if (!isCovered || (this.isPlaying && have.to - this.time < (wanted.to - this.time) / 2)) this.#schedule(key, address, stream);
        return (isCovered && have.stream) || undefined;
    }

    /** @param {import("../core/live.js").LiveStream} stream */
    playheadOf(stream) {
        return this.time ?? this.live.playheadOf(stream);
    }

    close() {
        this.#abort.abort();
        for (const timer of this.#timers.values()) clearTimeout(timer);
    }

    #schedule(key, address, stream) {
        if (this.#timers.has(key)) return;
        this.#timers.set(key, setTimeout(() => this.#load(key, address, stream), SETTLE));
    }

    async #load(key, address, stream) {
        let pause = 0;
        if (this.time !== null) {
            // Averages are only on the clocks of the devices.
            const { from, to, every } = chunkOf(this.time, this.isPlaying && !this.isOnCollectorTime ? this.speed : 1);
            const [group, device] = address.split("/");
            try {
                const reply = await request(streamPath(group, device, stream), { query: { from, to, every: every ? `${every}ms` : undefined, time: this.isOnCollectorTime ? "collector" : undefined }, signal: this.#abort.signal });
                this.#chunks.set(key, { from, to, stream: ringOf(reply) });
            } catch {
                pause = RETRY;
            }
        }
        if (!this.#abort.signal.aborted) setTimeout(() => this.#timers.delete(key), pause);
    }
}
