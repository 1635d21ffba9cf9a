/** Past samples of a stream as minima and maxima, loaded for the visible range and some time around it. */

import { isAbort, request, streamPath } from "../core/api.js";
import { now } from "../core/clock.js";
import { changesOf, meansOf, seriesOf } from "../pure/envelope.js";

/** Time between the last movement and the request, in ms. */
const SETTLE = 110;
/** Time until a failed request is repeated, in ms. */
const RETRY = 2_000;
/** Samples are stored about this long after their time, in µs. */
const ARRIVAL = 3e6;
/** The longest span of averages. */
const LONGEST = "366d";
/** The last value of a bucket is looked for among all of its samples, if it is not longer than this, in µs. */
const LONGEST_LAST = 2e6;

/** What is asked of the server about a range, when it has not changed for a moment. */
class Settled {
    #key = "";
    #subject = "";
    #value = null;
    #timer = 0;

    /** @param {(from: number, to: number) => Promise<any>} load @param {() => void} onchange */
    constructor(load, onchange) {
        this.load = load;
        this.onchange = onchange;
    }

    /**
     * Returns the answer, or null until there is one. While the subject is the same, the answer stays until that of another
     * range of it has arrived.
     * @param {number} from @param {number} to @param {string} subject what a person has chosen, and the range covers
     */
    of(from, to, subject) {
        const key = `${from} ${to}`;
        const isOther = subject !== this.#subject;
        this.#subject = subject;
        if (key === this.#key) return this.#value;
        if (isOther) this.#value = null;
        clearTimeout(this.#timer);
        this.#key = key;
        this.#timer = setTimeout(() => this.#ask(key, from, to), SETTLE);
        return this.#value;
    }

    async #ask(key, from, to) {
        try {
            const value = await this.load(from, to);
            if (key !== this.#key) return;
            this.#value = value;
            this.onchange();
        } catch {
            // What the plot shows is shown without it.
            if (key === this.#key) this.#timer = setTimeout(() => this.#askAgain(), RETRY);
        }
    }

    #askAgain() {
        this.#key = "";
        this.onchange();
    }

    close() {
        clearTimeout(this.#timer);
        this.#key = "";
        this.#value = null;
    }
}

export class PastSource {
    /** @type {import("../pure/envelope.js").Series|null} */
    series = null;
    /** @type {string|null} */
    problem = null;
    isLoading = false;
    /** Whether the range begins after all samples that can be stored. */
    isAhead = false;
    /** Whether times are on the collector's clock. */
    #isOnCollectorTime = false;
    #timer = 0;
    #wanted = "";
    #atCursor = new Settled((from, to) => this.#means(from, to), () => this.onchange());
    #inSelection = new Settled((from, to) => this.#measured(from, to), () => this.onchange());
    /** The end of the time of which all samples were loaded, in µs. */
    #complete = 0;
    /** @type {AbortController|null} */
    #abort = null;

    /**
     * @param {{group: string, device: string, stream: string, rate: number|null, shift?: number}} source `shift` is how much later its samples are than the times at which they are shown, in µs
     * @param {() => void} onchange
     */
    constructor(source, onchange) {
        this.source = source;
        this.shift = source.shift ?? 0;
        this.onchange = onchange;
    }

    /** Loads what the view needs, unless it is there. @param {{from: number, to: number}} view @param {number} width in pixels */
    show(view, width) {
        const span = view.to - view.from;
        // What is newer may not be stored yet.
        const time = this.#now - ARRIVAL;
        // Another session may not have come as far as this range.
        this.isAhead = view.from >= time;
        if (this.isAhead) {
            this.isLoading = false;
            return;
        }
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
            const until = Math.min(to, this.#now);
            // Buckets are not narrower than a pixel: otherwise the cursor would pass over some.
            const points = Math.max(60, Math.min(3000, Math.floor((width * (until - from)) / span)));
            this.#load(Math.round(from), Math.round(until), points);
        }, SETTLE);
    }

    /** Shows the samples at other times. @param {number} shift how much later they are, in µs */
    setShift(shift) {
        if (shift === this.shift) return;
        this.shift = shift;
        this.forget();
    }

    /** Puts the times on the collector's clock, or on the device's. @param {boolean} isOn */
    setCollectorTime(isOn) {
        if (isOn === this.#isOnCollectorTime) return;
        this.#isOnCollectorTime = isOn;
        this.forget();
    }

    /**
     * Returns the means of a row, or null until they are loaded.
     * @param {number} i @param {number} cursor the time in it at which they are shown @returns {Record<string, number>|null}
     */
    meansAt(i, cursor) {
        const { times, step } = /** @type {import("../pure/envelope.js").Series} */ (this.series);
        // Averages are on the device's clock.
        if (step === null || this.#isOnCollectorTime) return null;
        const from = Math.round(times[i] - step / 2);
        return this.#atCursor.of(from, Math.round(from + step), String(cursor));
    }

    /**
     * Returns the means of a range, and the last value of each column minus the first one if the buckets are short; null
     * until they are loaded.
     * @param {{from: number, to: number}} range in whole buckets @param {{from: number, to: number}} selection that they cover @returns {{means: Record<string, number>, changes: Record<string, number>}|null}
     */
    measuredIn({ from, to }, selection) {
        return this.#isOnCollectorTime ? null : this.#inSelection.of(from, to, `${selection.from} ${selection.to}`);
    }

    async #means(from, to) {
        return meansOf(await this.#request({ from, to, every: LONGEST }));
    }

    async #measured(from, to) {
        const step = this.series?.step ?? 0;
        const [means, first, last] = await Promise.all([this.#means(from, to), ...(step <= LONGEST_LAST
            ? [this.#request({ from, to, limit: 1 }), this.#request({ from: Math.max(from, Math.floor(to - step)), to })] : [])]);
        return { means, changes: first && last ? changesOf(first, last) : {} };
    }

    /** The present, as it is shown. */
    get #now() {
        return now() - this.shift;
    }

    #request({ from, to, ...query }, signal) {
        const { group, device, stream } = this.source;
        return request(streamPath(group, device, stream), { query: { from: from + this.shift, to: to + this.shift, ...query }, signal });
    }

    /** Loads again, and shows what it has until then. */
    reset() {
        this.#wanted = "";
    }

    /** Forgets what is no longer true, and loads again. */
    forget() {
        this.series = null;
        this.close();
        this.reset();
    }

    close() {
        clearTimeout(this.#timer);
        this.#atCursor.close();
        this.#inSelection.close();
        this.#abort?.abort();
    }

    async #load(from, to, points) {
        this.#abort?.abort();
        const abort = new AbortController();
        this.#abort = abort;
        const wanted = this.#wanted;
        this.isLoading = true;
        this.onchange();
        const complete = Math.min(to, this.#now - ARRIVAL);
        try {
            const reply = await this.#request({ from, to, points, time: this.#isOnCollectorTime ? "collector" : undefined }, abort.signal);
            this.series = seriesOf({ ...reply, from, to, shift: this.shift });
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
