/** Past samples of a stream as minima and maxima, loaded for the visible range and some time around it. */

import { isAbort, request, streamPath } from "../core/api.js";
import { now } from "../core/clock.js";
import { meansOf, seriesOf } from "../pure/envelope.js";

/** Time between the last movement and the request, in ms. */
const SETTLE = 110;
/** Time until a failed request is repeated, in ms. */
const RETRY = 2_000;
/** Samples are stored about this long after their time, in µs. */
const ARRIVAL = 3e6;
/** The longest span of averages. */
const LONGEST = "366d";

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
    /** The means of the row under the cursor. @type {{time: number, values: Record<string, number>|null}|null} */
    #means = null;
    /** The end of the time of which all samples were loaded, in µs. */
    #complete = 0;
    #meansTimer = 0;
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
        // What is newer may not be stored yet.
        const time = now() - ARRIVAL;
        const have = this.series;
        // A range that follows the time is loaded again when this part of it is missing.
        const refresh = Math.max(2e6, span * 0.01);
        const isCovered = have && have.from <= view.from && Math.min(view.to, time) <= this.#complete + refresh;
        const isFine = have && have.to - have.from < span * 3.2;
        if (isCovered && isFine) return;
        // Aligned, so that small movements ask for the same range.
        const grid = span / 4;
        const from = Math.max(0, Math.floor((view.from - span * 0.4) / grid) * grid);
        const to = Math.ceil((view.to + span * 0.4) / grid) * grid;
        const wanted = `${Math.round(from)} ${to > time ? `now ${Math.floor(time / refresh)}` : Math.round(to)} ${Math.round(width)}`;
        if (wanted === this.#wanted) return;
        this.#wanted = wanted;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => {
            const until = Math.min(to, now());
            // Buckets are not narrower than a pixel: otherwise the cursor would pass over some.
            const points = Math.max(60, Math.min(3000, Math.floor((width * (until - from)) / span)));
            this.#load(Math.round(from), Math.round(until), points);
        }, SETTLE);
    }

    /** Puts the times on the collector's clock, or on the device's. @param {boolean} isOn */
    setCollectorTime(isOn) {
        if (isOn === this.#isOnCollectorTime) return;
        this.#isOnCollectorTime = isOn;
        this.series = null;
        this.close();
        this.reset();
    }

    /**
     * Returns the means of a row, or null until they are loaded.
     * @param {number} i @returns {Record<string, number>|null}
     */
    meansAt(i) {
        const series = /** @type {import("../pure/envelope.js").Series} */ (this.series);
        const time = series.times[i];
        if (this.#means?.time === time) return this.#means.values;
        // Averages are on the device's clock.
        if (this.#isOnCollectorTime || series.step === null) return null;
        this.#means = { time, values: null };
        clearTimeout(this.#meansTimer);
        this.#meansTimer = setTimeout(() => this.#loadMeans(time, /** @type {number} */ (series.step)), SETTLE);
        return null;
    }

    async #loadMeans(time, step) {
        const { group, device, stream } = this.source;
        const from = Math.round(time - step / 2);
        try {
            const reply = await request(streamPath(group, device, stream), { query: { from, to: Math.round(from + step) - 1, every: LONGEST } });
            if (this.#means?.time === time) this.#means.values = meansOf(reply);
        } catch {
            // Minimum and maximum are shown without it.
        }
        this.onchange();
    }

    /** Forgets everything, for a new load. */
    reset() {
        this.#wanted = "";
    }

    close() {
        clearTimeout(this.#timer);
        clearTimeout(this.#meansTimer);
        this.#abort?.abort();
    }

    async #load(from, to, points) {
        this.#abort?.abort();
        const abort = new AbortController();
        this.#abort = abort;
        const wanted = this.#wanted;
        this.isLoading = true;
        this.onchange();
        const { group, device, stream } = this.source;
        const complete = Math.min(to, now() - ARRIVAL);
        try {
            const reply = await request(streamPath(group, device, stream), { query: { from, to, points, time: this.#isOnCollectorTime ? "collector" : undefined }, signal: abort.signal });
            this.series = seriesOf({ ...reply, from, to });
            this.#complete = complete;
            this.problem = null;
        } catch (error) {
            if (isAbort(error)) return;
            this.problem = error.message;
            if (this.#wanted === wanted) this.#timer = setTimeout(() => {
                this.reset();
                this.onchange();
            }, RETRY);
        }
        this.isLoading = false;
        this.onchange();
    }
}
