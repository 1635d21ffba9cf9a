/** Past samples of a stream as minima and maxima, loaded for the visible range and some time around it. */

import { isAbort, request, streamPath } from "../core/api.js";
import { now } from "../core/clock.js";
import { seriesOf } from "../pure/envelope.js";

/** Time between the last movement and the request, in ms. */
const SETTLE = 110;

export class PastSource {
    /** @type {import("../pure/envelope.js").Series|null} */
    series = null;
    /** @type {string|null} */
    problem = null;
    isLoading = false;
    /** Whether times are on the collector's clock. */
    #isOnCollectorTime = false;
    #timer = 0;
    #wanted = "";
    /** @type {AbortController|null} */
    #abort = null;

    /**
     * @param {{group: string, device: string, stream: string, rate: number|null}} source
     * @param {() => void} onchange
     */
    constructor(source, onchange) {
        this.source = source;
        this.onchange = onchange;
    }

    /** Loads what the view needs, unless it is there. @param {{from: number, to: number}} view @param {number} width in pixels */
    show(view, width) {
        const span = view.to - view.from;
        const time = now();
        const have = this.series;
        const isCovered = have && have.from <= view.from && Math.min(view.to, time) <= have.to + span * 0.02;
        const isFine = have && have.to - have.from < span * 3.2;
        if (isCovered && isFine) return;
        // Aligned, so that small movements ask for the same range.
        const grid = span / 4;
        const from = Math.max(0, Math.floor((view.from - span * 0.4) / grid) * grid);
        const to = Math.ceil((view.to + span * 0.4) / grid) * grid;
        const points = Math.max(60, Math.min(3000, Math.round((width * (to - from)) / span)));
        const wanted = `${Math.round(from)} ${Math.round(to)} ${points}`;
        if (wanted === this.#wanted) return;
        this.#wanted = wanted;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#load(Math.round(from), Math.round(Math.min(to, now())), points), SETTLE);
    }

    /** Puts the times on the collector's clock, or on the device's. @param {boolean} isOn */
    setCollectorTime(isOn) {
        if (isOn === this.#isOnCollectorTime) return;
        this.#isOnCollectorTime = isOn;
        this.series = null;
        this.close();
        this.reset();
    }

    /** Forgets everything, for a new load. */
    reset() {
        this.#wanted = "";
    }

    close() {
        clearTimeout(this.#timer);
        this.#abort?.abort();
    }

    async #load(from, to, points) {
        this.#abort?.abort();
        const abort = new AbortController();
        this.#abort = abort;
        this.isLoading = true;
        this.onchange();
        const { group, device, stream, rate } = this.source;
        try {
            const reply = await request(streamPath(group, device, stream), { query: { from, to, points, time: this.#isOnCollectorTime ? "collector" : undefined }, signal: abort.signal });
            this.series = seriesOf({ ...reply, from, to }, rate);
            this.problem = null;
        } catch (error) {
            if (isAbort(error)) return;
            this.problem = error.message;
            this.#wanted = "";
        }
        this.isLoading = false;
        this.onchange();
    }
}
