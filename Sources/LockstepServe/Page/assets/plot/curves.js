/** The curves of one stream in a chart: its samples, live and past, and its part of the legend. */

import { h, icon, setText } from "../core/dom.js";
import { isCircular, shownAtFirst, streamTitle } from "../pure/columns.js";
import { extentOf, rowAt } from "../pure/envelope.js";
import { fixed, UNKNOWN } from "../pure/format.js";
import { units } from "../core/units.js";
import { seriesIn, shownUnit } from "../pure/imperial.js";
import { isGapBefore, patienceAfter } from "../pure/gaps.js";
import { ofSession } from "../pure/comparison.js";
import { coveredBy, meanWithin, measuredText, statisticsOf, turn } from "../pure/statistics.js";
import { LIVE_SPAN } from "../pure/view.js";
import { LiveLayer } from "./live-layer.js";
import { paintSeries } from "./past-painter.js";
import { PastSource } from "./past-source.js";

/** Shorter steps between live samples are no gap, in µs. */
const LEAST_GAP = 120_000;

export class Curves {
    #layer = new LiveLayer();
    /** The loaded samples, and the same in the units that are shown. */
    #loaded = { series: /** @type {any} */ (null), chosen: "", shown: /** @type {any} */ (null) };

    /**
     * @param {{group: string, device: string, stream: string, rate: number|null, columns: import("../pure/columns.js").Column[], shown?: string[]|null, session?: string, shift?: number}} source `shown` are the columns that are shown, if not the usual ones
     * @param {{live: import("../core/live.js").LiveSamples, place: number, label: string|null, onchange: () => void, ontoggle: () => void, onremove: () => void}} options
     *   `place` is the number of other streams in the chart; `label` names one that is not the first
     */
    constructor(source, { live, place, label, onchange, ontoggle, onremove }) {
        this.source = source;
        this.live = live;
        this.place = place;
        this.address = `${source.group}/${source.device}`;
        this.past = new PastSource(source, onchange);
        this.usual = shownAtFirst(source.stream, source.columns);
        this.shown = source.columns.map(({ name }) => (source.shown ?? this.usual).includes(name));
        this.items = source.columns.map((column, i) => this.#legendItem(column, i, ontoggle));
        this.element = h("div", { class: "legend", role: "group", "aria-label": label ? `Columns of ${label}` : "Columns" },
            label && h("span", { class: "legend-label" }, label, h("button", { class: "button quiet icon-only small", type: "button", "aria-label": `Remove ${label} from this plot`, title: "Remove from this plot", onclick: onremove }, icon("close"))),
            ...this.items.map(({ element }) => element));
        this.release = source.session ? () => {} : live.want(this.address, source.stream);
    }

    /** As it is in an address. */
    get plotAddress() {
        const { group, device, session, stream, columns } = this.source;
        const shown = columns.filter((_, i) => this.shown[i]).map(({ name }) => name);
        return { group, device, session, stream, columns: shown.join() === this.usual.join() ? null : shown };
    }

    /** The units of the columns that are shown. @returns {string[]} */
    get units() {
        return this.source.columns.filter((_, i) => this.shown[i]).map(({ unit }) => shownUnit(unit, units()).unit);
    }

    /** The past samples in the units that are shown; null if none are loaded. @returns {import("../pure/envelope.js").Series|null} */
    get series() {
        const { series } = this.past;
        const chosen = units();
        if (series !== this.#loaded.series || chosen !== this.#loaded.chosen) this.#loaded = { series, chosen, shown: series && seriesIn(series, chosen) };
        return this.#loaded.shown;
    }

    /** From the stored to the shown unit of a column. @param {string} name */
    #shownUnit(name) {
        return shownUnit(this.source.columns.find((column) => column.name === name)?.unit ?? "", units());
    }

    /** A value in the unit that is shown. @param {string} name of its column @param {number} value */
    #converted(name, value) {
        const { factor, offset } = this.#shownUnit(name);
        return value * factor + offset;
    }

    /** @param {string} name */
    #isCircular(name) {
        return this.source.columns.some((column) => column.name === name && isCircular(column));
    }

    /** The name of the stream, with the device if it is another one. */
    get title() {
        return `${this.source.device}: ${streamTitle(this.source.stream)}${ofSession(this.source)}`;
    }

    /** Moves the samples of another session. @param {number} shift how much later it is than the times that are shown, in µs */
    setShift(shift) {
        this.source = { ...this.source, shift };
        this.past.setShift(shift);
    }

    /** The live stream, if samples of it have arrived. Another session has only the past. */
    get stream() {
        return this.source.session ? undefined : this.live.get(this.address, this.source.stream);
    }

    close() {
        this.past.close();
        this.release();
    }

    /** The lowest and highest live value since a time. @param {number} from */
    liveExtent(from) {
        let [low, high] = [Infinity, -Infinity];
        const { stream } = this;
        for (const { column, factor, offset } of stream ? this.#indices(stream.columns) : []) {
            for (let i = stream.ring.indexAt(from); i < stream.ring.end; i += 1) {
                const value = stream.ring.valueAt(i, column) * factor + offset;
                if (value < low) low = value;
                if (value > high) high = value;
            }
        }
        return { low, high };
    }

    /** The lowest and highest past value in a range, or null. @param {{from: number, to: number}} view */
    pastExtent({ from, to }) {
        const { series } = this;
        return series && extentOf(series, from, to, this.isShownIn(series));
    }

    /** Whether each column of a series is shown. @param {import("../pure/envelope.js").Series} series */
    isShownIn(series) {
        return series.columns.map((name) => this.shown[this.source.columns.findIndex((column) => column.name === name)] ?? false);
    }

    /**
     * Draws the live samples up to a time. Returns whether there are any in view.
     * @param {CanvasRenderingContext2D} c @param {number} scale @param {{x: number, y: number, width: number, height: number}} area
     * @param {{low: number, high: number}} range @param {number} time @param {{axes: string[], gap: string}} colours
     */
    paintLive(c, scale, area, range, time, colours) {
        const { stream } = this;
        const indices = this.#indices(stream?.columns ?? []);
        const newest = stream?.ring.newest ?? null;
        if (!stream || newest === null || newest <= time - LIVE_SPAN || !indices.length) return false;
        const { ring } = stream;
        const timeAt = (i) => ring.timeAt(i);
        if (this.place === 0 && time - newest > patienceAfter(timeAt, ring.start, ring.end, LEAST_GAP)) {
            const x = area.x + Math.max(0, 1 - (time - newest) / LIVE_SPAN) * area.width;
            c.fillStyle = colours.gap;
            c.fillRect(x, area.y, area.x + area.width - x, area.height);
        }
        c.setTransform(1, 0, 0, 1, 0, 0);
        this.#layer.draw(c, { x: Math.round(area.x * scale), y: Math.round(area.y * scale), width: Math.floor(area.width * scale), height: Math.round(area.height * scale) }, {
            ring, factors: indices.map(({ factor }) => factor), offsets: indices.map(({ offset }) => offset), columns: indices.map(({ column }) => column), colours: indices.map(({ slot }) => colours.axes[slot]), circular: indices.map((index) => index.isCircular),
            gapColour: this.place === 0 ? colours.gap : "transparent", range, time, span: LIVE_SPAN, isGapBefore: (i) => isGapBefore(timeAt, i, ring.start, ring.end, LEAST_GAP), scale,
        });
        c.setTransform(scale, 0, 0, scale, 0, 0);
        return true;
    }

    /** Draws the past samples. @param {CanvasRenderingContext2D} c @param {any} area @param {{from: number, to: number}} view @param {{low: number, high: number}} range @param {{axes: string[]}} colours */
    paintPast(c, area, view, range, colours) {
        const { series } = this;
        if (series) paintSeries(c, area, series, view, range, this.#indices(series.columns).map(({ column, slot, isCircular: circular }) => ({ index: column, colour: colours.axes[slot], isCircular: circular })));
    }

    /** Shows the live values at a time. @param {number} time @param {number} decimals */
    showLiveValues(time, decimals) {
        const { stream } = this;
        const values = stream?.ring.nearest(time, 2e6);
        this.#values(values ? values.map((value, i) => fixed(this.#converted(stream.columns[i], value), decimals)) : null, stream?.columns ?? []);
    }

    /** Shows what was measured at a time of the past. Returns the number of samples, or null. @param {number|null} cursor @param {number} reach @param {number} decimals */
    showPastValues(cursor, reach, decimals) {
        const { series } = this;
        const i = series && cursor !== null ? rowAt(series, cursor, reach) : -1;
        if (!series || i < 0) {
            this.#values(null, []);
            return null;
        }
        const count = series.counts?.[i] ?? 1;
        const means = count > 1 ? this.past.meansAt(i, cursor) : null;
        this.#values(series.columns.map((name, k) => measuredText({ low: series.low[k][i], high: series.high[k][i], count }, means?.[name] === undefined ? undefined : this.#converted(name, means[name]), decimals, this.#isCircular(name))), series.columns);
        return count;
    }

    /**
     * Returns the statistics of what is between two times. Where rows are buckets, means and differences come from the
     * server, and are null until then.
     * @param {{from: number, to: number}} selection
     */
    statistics({ from, to }) {
        const { series } = this;
        if (!series) return [];
        const found = statisticsOf(series, from, to, this.isShownIn(series));
        if (found.every(({ mean, change }) => mean !== null && change !== null)) return found;
        const range = coveredBy(series, from, to);
        const measured = range && this.past.measuredIn(range, { from, to });
        return found.map((item) => {
            const mean = measured?.means[item.name];
            const change = measured?.changes[item.name];
            // Directions have no linear mean.
            const shownMean = mean === undefined || this.#isCircular(item.name) ? null : this.#converted(item.name, mean);
            return {
                ...item,
                mean: item.mean ?? (shownMean === null ? null : meanWithin(shownMean, item)),
                change: item.change ?? (change === undefined ? null : (this.#isCircular(item.name) ? turn(0, change) : change * this.#shownUnit(item.name).factor)),
            };
        });
    }

    /** Shown columns with their place among `names`. @param {string[]} names */
    #indices(names) {
        const result = [];
        this.source.columns.forEach((column, i) => {
            const at = names.indexOf(column.name);
            if (this.shown[i] && at >= 0) result.push({ column: at, slot: this.slot(i), isCircular: isCircular(column), ...this.#shownUnit(column.name) });
        });
        return result;
    }

    /** The colour of a column: x, y, z of the first stream always have the same ones. @param {number} i */
    slot(i) {
        const { columns } = this.source;
        const axis = /[xyz]$/.exec(columns[i].name);
        const own = axis && columns.length > 1 ? "xyz".indexOf(axis[0]) : /^qw$/.test(columns[i].name) ? 3 : i % 6;
        return (own + this.place * 3) % 6;
    }

    #legendItem(column, i, ontoggle) {
        const value = h("span", { class: "legend-value num" }, UNKNOWN);
        const element = h("button", { class: "legend-item", type: "button", "aria-pressed": String(this.shown[i]), title: column.name,
            data: { slot: String(this.slot(i) + 1) },
            onclick: () => {
                this.shown[i] = !this.shown[i];
                element.setAttribute("aria-pressed", String(this.shown[i]));
                ontoggle();
            } }, h("span", { class: "swatch", "aria-hidden": "true" }), column.name, value);
        return { element, value };
    }

    /** @param {(string|undefined)[]|null} texts @param {string[]} names of their columns */
    #values(texts, names) {
        this.source.columns.forEach(({ name }, i) => {
            setText(this.items[i].value, this.shown[i] && texts ? (texts[names.indexOf(name)] ?? UNKNOWN) : "");
        });
    }
}
