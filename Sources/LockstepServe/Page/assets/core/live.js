/** Live samples of some streams, in rings, with a smooth time to draw. */

import { columnsOf, lengthOf, timesOf } from "../pure/batch.js";
import { advance, arrived, playhead, startPlayout } from "../pure/playout.js";
import { SampleRing } from "../pure/ring.js";
import { now, observe } from "./clock.js";
import { openEvents } from "./event-stream.js";

/** Enough for 40 s at 200 Hz. */
const CAPACITY = 8192;

/** @typedef {{ring: SampleRing, columns: string[], words: Map<string, {t: number, value: string}>, playout: import("../pure/playout.js").Playout}} LiveStream */

export class LiveSamples extends EventTarget {
    /** @type {Map<string, LiveStream>} by group/device and stream */
    streams = new Map();
    /** @type {Map<string, number>} users of each stream */
    #wanted = new Map();
    /** @type {{close: () => void}|null} */
    #events = null;
    #timer = 0;
    #url = "";
    /** @type {"connecting"|"open"|"lost"} */
    status = "connecting";
    dropped = 0;

    /**
     * Subscribes to a stream; returns a function that ends the subscription.
     * @param {string} address group/device @param {string} stream
     */
    want(address, stream) {
        const key = `${address} ${stream}`;
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
        this.#events?.close();
        this.#events = null;
        this.#wanted.clear();
    }

    /** Several subscriptions that change together need one connection. */
    #schedule() {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#connect(), 30);
    }

    #connect() {
        const query = new URLSearchParams();
        const unique = (index) => [...new Set([...this.#wanted.keys()].map((key) => key.split(" ")[index]))].sort();
        for (const address of unique(0)) query.append("device", address);
        for (const stream of unique(1)) query.append("stream", stream);
        query.append("hz", "10");
        const url = `/api/v1/live?${query}`;
        if (url === this.#url && this.#events) return;
        this.#events?.close();
        this.#events = null;
        this.#url = url;
        if (this.#wanted.size === 0) return;
        this.#events = openEvents(url, {
            hello: (data) => observe(data.at),
            samples: (data) => this.#receive(data),
            dropped: (data) => { this.dropped += data.samples ?? 0; },
        }, (status) => {
            this.status = status;
            this.dispatchEvent(new Event("status"));
        });
    }

    /** @param {Record<string, any>} batch */
    #receive(batch) {
        const count = lengthOf(batch);
        if (count === 0) return;
        const key = `${batch.group}/${batch.device} ${batch.stream}`;
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
        live.playout = arrived(live.playout, times[count - 1], now());
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
