/** Live samples of some streams, in rings, with a smooth time to draw. */

import { columnsOf, lengthOf, timesOf } from "../pure/batch.js";
import { advance, arrived, playhead, startPlayout } from "../pure/playout.js";
import { SampleRing } from "../pure/ring.js";
import { now } from "./clock.js";
import { link } from "./link.js";

/** Enough for 40 s at 200 Hz. */
const CAPACITY = 8192;

/** @typedef {{ring: SampleRing, columns: string[], words: Map<string, {t: number, value: string}>, playout: import("../pure/playout.js").Playout}} LiveStream */

export class LiveSamples extends EventTarget {
    /** @type {Map<string, LiveStream>} by group/device and stream */
    streams = new Map();
    /** @type {Map<string, number>} users of each stream */
    #wanted = new Map();
    /** Streams of which the recent samples are needed. @type {Set<string>} */
    #fresh = new Set();
    #timer = 0;
    #onsamples = (event) => this.#receive(event.detail);

    constructor() {
        super();
        link.addEventListener("samples", this.#onsamples);
    }

    /**
     * Subscribes to a stream; returns a function that ends the subscription.
     * @param {string} address group/device @param {string} stream
     */
    want(address, stream) {
        const key = `${address} ${stream}`;
        if (!this.#wanted.has(key)) this.#fresh.add(key);
        this.#wanted.set(key, (this.#wanted.get(key) ?? 0) + 1);
        this.#schedule();
        let isOver = false;
        return () => {
            if (isOver) return;
            isOver = true;
            const users = (this.#wanted.get(key) ?? 1) - 1;
            if (users > 0) this.#wanted.set(key, users);
            else this.#wanted.delete(key);
            this.#schedule();
        };
    }

    /** @param {string} address @param {string} stream @returns {LiveStream|undefined} */
    get(address, stream) {
        return this.streams.get(`${address} ${stream}`);
    }

    /** The time to draw for a stream, in µs: steps forward smoothly. @param {LiveStream} live */
    playheadOf(live) {
        const time = now();
        if (time - live.playout.updated > 4000) live.playout = advance(live.playout, time);
        return playhead(live.playout, time);
    }

    close() {
        clearTimeout(this.#timer);
        link.removeEventListener("samples", this.#onsamples);
        this.#wanted.clear();
        link.want(this, [], []);
    }

    /** Several subscriptions that change together are one message. */
    #schedule() {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => {
            link.want(this, [...this.#wanted.keys()], [...this.#fresh]);
            this.#fresh.clear();
        }, 20);
    }

    /** @param {{key: string, batch: Record<string, any>, isReplay?: boolean}} message */
    #receive({ key, batch, isReplay = false }) {
        if (!this.#wanted.has(key)) return;
        const count = lengthOf(batch);
        if (count === 0) return;
        let live = this.streams.get(key);
        if (!live) {
            live = { ring: new SampleRing(0, 16), columns: [], words: new Map(), playout: startPlayout() };
            this.streams.set(key, live);
        }
        const names = columnsOf(batch);
        const numeric = names.filter((name) => !batch[name].some((value) => typeof value === "string"));
        if (numeric.some((name) => !live.columns.includes(name))) this.#addColumns(live, numeric);
        const times = timesOf(batch, count);
        for (const name of names) {
            if (!numeric.includes(name)) live.words.set(name, { t: times[count - 1], value: batch[name][count - 1] });
        }
        const values = live.columns.map((name) => batch[name]);
        for (let i = 0; i < count; i += 1) live.ring.append(times[i], values.map((column) => column?.[i]));
        // How late samples arrive says nothing about those that are only repeated.
        live.playout = isReplay ? { ...live.playout, newest: times[count - 1] } : arrived(live.playout, times[count - 1], now());
        this.dispatchEvent(new CustomEvent("samples", { detail: { key, batch } }));
    }

    /** A column that was unknown so far. @param {LiveStream} live @param {string[]} names */
    #addColumns(live, names) {
        const old = live.ring;
        const before = live.columns;
        live.columns = [...before, ...names.filter((name) => !before.includes(name))];
        live.ring = new SampleRing(live.columns.length, CAPACITY);
        for (let i = old.start; i < old.end; i += 1) live.ring.append(old.timeAt(i), before.map((_, c) => old.valueAt(i, c)));
    }
}
