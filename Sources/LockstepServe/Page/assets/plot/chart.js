/** A chart of one stream of one device, live or past. */

import { fitCanvas } from "../core/canvas.js";
import { now } from "../core/clock.js";
import { h, icon, setText } from "../core/dom.js";
import { askAxis } from "./axis-dialog.js";
import { watchVisible } from "../core/frames.js";
import { onThemeChange, token } from "../core/theme.js";
import { boundText } from "../pure/clock-texts.js";
import { isCircular, shownAtFirst, streamTitle } from "../pure/columns.js";
import { boundOf, extentOf, rowAt } from "../pure/envelope.js";
import { counted, day, fixed, rate, timeOfDay, UNKNOWN, zoneOffset } from "../pure/format.js";
import { isGapBefore, patienceAfter } from "../pure/gaps.js";
import { steadyRange, ticks, timeTicks } from "../pure/scale.js";
import { statisticsOf } from "../pure/statistics.js";
import { LIVE_SPAN } from "../pure/view.js";
import { LiveLayer } from "./live-layer.js";
import { paintGaps, paintSeries } from "./past-painter.js";
import { PastSource } from "./past-source.js";

/** The room for the labels of the value axis, at least. */
export const LEFT = 46;
/** Shorter steps between live samples are no gap, in µs. */
const LEAST_GAP = 120_000;
const BOTTOM = 20;
const TOP = 6;

export class Chart {
    #layer = new LiveLayer();
    #dirty = true;
    #range = null;
    #rangeAt = 0;
    #legendAt = 0;
    #colours = {};
    #left = LEFT;
    /** The room that the labels of the value axis need. */
    neededLeft = LEFT;
    #decimals = 3;

    /**
     * @param {{group: string, device: string, stream: string, rate: number|null, columns: import("../pure/columns.js").Column[]}} source
     * @param {{live: import("../core/live.js").LiveSamples, showsDevice: boolean, onclose: (() => void)|null, oncursor: (time: number|null) => void, onarrange: () => void}} options `source.shown` are the columns that are shown, if not the usual ones
     */
    constructor(source, { live, showsDevice, onclose, oncursor, onarrange }) {
        this.source = source;
        this.live = live;
        this.oncursor = oncursor;
        this.onarrange = onarrange;
        this.address = `${source.group}/${source.device}`;
        this.past = new PastSource(source, () => this.invalidate());
        const usual = shownAtFirst(source.stream, source.columns);
        this.usual = usual;
        this.shown = source.columns.map(({ name }) => (source.shown ?? usual).includes(name));
        this.legend = source.columns.map((column, i) => this.#legendItem(column, i));
        const title = h("span", { class: "chart-title" }, showsDevice && h("b", null, source.device), streamTitle(source.stream), h("span", { class: "chart-unit" }, this.#unit()));
        this.unitText = title.lastChild;
        this.countText = h("span", { class: "chart-unit chart-count num" });
        this.boundText = h("span", { class: "chart-unit chart-bound num", title: "The largest possible error of the times in view, on the collector's clock" });
        this.axis = source.axis ?? null;
        this.axisButton = h("button", { class: "button quiet icon-only small", type: "button", "aria-label": `Value axis of ${source.stream}`, title: "Value axis: fixed limits",
            "aria-pressed": String(this.axis !== null), onclick: () => askAxis(this.#shownRange, this.axis, (axis) => this.#fixAxis(axis)) }, icon("lock"));
        this.stats = h("dl", { class: "chart-stats num", hidden: true });
        this.canvas = h("canvas", { class: "chart-canvas", tabIndex: 0, role: "img" });
        this.note = h("div", { class: "chart-note", hidden: true });
        const close = onclose && h("button", { class: "button quiet icon-only small", type: "button", "aria-label": `Remove plot of ${source.stream}`, title: "Remove plot", onclick: onclose }, icon("close"));
        this.element = h("div", { class: "chart" },
            h("div", { class: "chart-head" }, title, this.boundText, this.countText, h("div", { class: "legend", role: "group", "aria-label": "Columns" }, ...this.legend.map(({ element }) => element)), h("span", { class: "chart-tools" }, this.axisButton, close)), this.stats,
            h("div", { class: "chart-area" }, this.canvas, this.note));
        this.fitted = fitCanvas(this.canvas, () => this.invalidate());
        this.visible = watchVisible(this.element);
        this.stopTheme = onThemeChange(() => this.#readColours());
        this.release = live.want(this.address, source.stream);
        this.#readColours();
        this.#describe("waiting for samples");
        this.canvas.addEventListener("pointerleave", () => this.oncursor(null));
    }

    get area() {
        return { x: this.#left, y: TOP, width: Math.max(10, this.fitted.width - this.#left - 1), height: Math.max(10, this.fitted.height - BOTTOM - TOP) };
    }

    /** The plot as it is in an address. @returns {import("../pure/address.js").PlotAddress} */
    get plotAddress() {
        const { group, device, stream, columns } = this.source;
        const shown = columns.filter((_, i) => this.shown[i]).map(({ name }) => name);
        return { group, device, stream, columns: shown.join() === this.usual.join() ? null : shown, axis: this.axis };
    }

    invalidate() {
        this.#dirty = true;
    }

    close() {
        this.past.close();
        this.release();
        this.fitted.stop();
        this.visible.stop();
        this.stopTheme();
    }

    /** The live stream, if samples of it have arrived. */
    get stream() {
        return this.live.get(this.address, this.source.stream);
    }

    /**
     * Draws the chart, if anything has changed.
     * @param {import("../pure/view.js").TimeView} view @param {number|null} cursor time in µs @param {{from: number, to: number}|null} selection
     * @param {number} left the room for labels: the same for all charts, so that equal times are one below the other
     */
    paint(view, cursor, selection, left = LEFT) {
        if (left !== this.#left) {
            this.#left = left;
            this.note.style.left = `${left}px`;
            this.invalidate();
        }
        if (!this.visible.visible || this.fitted.width === 0) return;
        if (view.live) this.#paintLive(cursor);
        else this.#paintPast(view, cursor, selection);
    }

    /** The range of the value axis. */
    get #shownRange() {
        return this.axis ?? this.#range ?? { low: -1, high: 1 };
    }

    /** @param {{low: number, high: number}|null} axis */
    #fixAxis(axis) {
        this.axis = axis;
        this.axisButton.setAttribute("aria-pressed", String(axis !== null));
        this.#range = null;
        this.invalidate();
        this.onarrange();
    }

    /** The plot with its title and legend as an image. @returns {Promise<Blob>} */
    image() {
        const { width, height, scale } = this.fitted;
        const head = 26;
        const canvas = document.createElement("canvas");
        canvas.width = this.canvas.width;
        canvas.height = this.canvas.height + head * scale;
        const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
        c.scale(scale, scale);
        c.fillStyle = token("--surface");
        c.fillRect(0, 0, width, height + head);
        c.font = `560 13px ${token("--font")}`;
        c.textBaseline = "middle";
        let x = 8;
        const write = (text, colour) => {
            c.fillStyle = colour;
            c.fillText(text, x, head / 2);
            x += c.measureText(text).width + 12;
        };
        write(`${this.source.device}: ${streamTitle(this.source.stream)}${this.#unit() ? `, ${this.#unit()}` : ""}`, token("--text"));
        this.source.columns.forEach(({ name }, i) => this.shown[i] && write(name, this.#colours.axes[this.#slot(i)]));
        c.drawImage(this.canvas, 0, head, width, height);
        return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser cannot make an image of this plot"))), "image/png"));
    }

    #paintLive(cursor) {
        setText(this.boundText, "");
        const stream = this.stream;
        const time = stream ? this.live.playheadOf(stream) : now() - 1e6;
        const view = { from: time - LIVE_SPAN, to: time };
        this.shownView = view;
        /** Seconds between a sample and its place at the right edge: the agent's window, and the way to here. */
        this.delay = stream ? (now() - time) / 1e6 : null;
        const { context: c, scale } = this.fitted;
        const area = this.area;
        const indices = this.#indices(stream?.columns ?? []);
        if (stream && performance.now() - this.#rangeAt > 200) {
            this.#rangeAt = performance.now();
            this.#range = steadyRange(this.#range, ...this.#liveExtent(stream.ring, indices, view.from));
        }
        const range = this.#shownRange;
        this.#frame(c, scale, area, view, range, true);
        const newest = stream?.ring.newest ?? null;
        const hasSamples = newest !== null && newest > view.from && indices.length > 0;
        if (hasSamples) {
            const { ring } = stream;
            const timeAt = (i) => ring.timeAt(i);
            if (time - newest > patienceAfter(timeAt, ring.start, ring.end, LEAST_GAP)) this.#shade(c, area, view, newest, time);
            c.setTransform(1, 0, 0, 1, 0, 0);
            this.#layer.draw(c, { x: Math.round(area.x * scale), y: Math.round(area.y * scale), width: Math.floor(area.width * scale), height: Math.round(area.height * scale) }, {
                ring, columns: indices.map(({ column }) => column), colours: indices.map(({ colour }) => colour), circular: indices.map((index) => index.isCircular),
                gapColour: this.#colours.gap, range, time, span: LIVE_SPAN, isGapBefore: (i) => isGapBefore(timeAt, i, ring.start, ring.end, LEAST_GAP), scale,
            });
            c.setTransform(scale, 0, 0, scale, 0, 0);
        }
        this.#note(hasSamples ? null : newest === null ? "Waiting for samples" : "No samples in the last 30 s");
        if (cursor !== null) this.#cursor(c, area, view, cursor);
        if (performance.now() - this.#legendAt > 180) {
            this.#legendAt = performance.now();
            const values = stream?.ring.nearest(cursor ?? time, 2e6);
            this.#values(values ? values.map((value) => this.#number(value)) : null, stream?.columns ?? []);
            setText(this.countText, "");
            this.#describe(hasSamples ? "live" : "no live samples");
        }
        this.#dirty = true;
    }

    #paintPast(view, cursor, selection) {
        this.shownView = view;
        this.past.show(view, this.area.width);
        if (!this.#dirty && cursor === this.drawnCursor && view === this.drawnView && selection === this.drawnSelection) return;
        this.#dirty = false;
        this.drawnCursor = cursor;
        this.drawnView = view;
        this.drawnSelection = selection;
        const { context: c, scale } = this.fitted;
        const area = this.area;
        const { series } = this.past;
        const shown = series?.columns.map((name) => this.#isShown(name));
        const extent = series && extentOf(series, view.from, view.to, shown);
        if (extent) this.#range = steadyRange(null, extent.low, extent.high);
        const range = this.#shownRange;
        this.#frame(c, scale, area, view, range, false);
        if (series) {
            c.save();
            c.beginPath();
            c.rect(area.x, area.y, area.width, area.height);
            c.clip();
            paintGaps(c, area, series, view, now() - 3e6, this.#colours.gap, extent ? this.#colours.muted : null);
            paintSeries(c, area, series, view, range, this.#indices(series.columns).map(({ column, colour, isCircular: circular }) => ({ index: column, colour, isCircular: circular })));
            this.#future(c, area, view);
            c.restore();
        }
        this.#note(this.past.problem ?? (series && !extent && !this.past.isLoading ? "No samples in this period" : series ? null : "Loading"));
        this.element.toggleAttribute("data-loading", this.past.isLoading);
        this.#select(c, area, view, series, shown, selection);
        if (cursor !== null) this.#cursor(c, area, view, cursor);
        this.#pastValues(series, cursor);
        const bound = series && boundOf(series, view.from, view.to);
        setText(this.boundText, bound === null ? "" : boundText(bound));
        this.#describe(`${timeOfDay(view.from)} to ${timeOfDay(view.to)}`);
    }

    /** Background, grid and axes. */
    #frame(c, scale, area, view, range, isLive) {
        const { width, height } = this.fitted;
        const colours = this.#colours;
        c.setTransform(scale, 0, 0, scale, 0, 0);
        c.clearRect(0, 0, width, height);
        c.font = colours.font;
        c.lineWidth = 1;
        c.strokeStyle = colours.grid;
        c.fillStyle = colours.text;
        c.textAlign = "right";
        c.textBaseline = "middle";
        const values = ticks(range.low, range.high, Math.max(2, area.height / 34));
        this.#decimals = Math.min(6, values.decimals + 1);
        let widest = 0;
        c.beginPath();
        for (const value of values.ticks) {
            const y = Math.round(area.y + area.height - ((value - range.low) / (range.high - range.low)) * area.height) + 0.5;
            c.moveTo(area.x, y);
            c.lineTo(area.x + area.width, y);
            const text = fixed(Math.abs(value) < values.step / 1e6 ? 0 : value, values.decimals);
            widest = Math.max(widest, c.measureText(text).width);
            c.fillText(text, area.x - 8, y);
        }
        // In steps, so that the charts do not twitch.
        this.neededLeft = Math.max(LEFT, Math.ceil((widest + 10) / 8) * 8);
        c.stroke();
        c.textBaseline = "top";
        c.textAlign = "center";
        if (isLive) this.#liveTicks(c, area);
        else this.#timeTicks(c, area, view);
    }

    #liveTicks(c, area) {
        for (let s = 0; s <= 30; s += area.width < 340 ? 10 : 5) {
            const x = area.x + area.width * (1 - s / 30);
            c.textAlign = s === 0 ? "right" : s === 30 ? "left" : "center";
            c.fillText(s === 0 ? "now" : `−${s} s`, x, area.y + area.height + 6);
        }
    }

    #timeTicks(c, area, view) {
        const offset = zoneOffset(view.to);
        const { ticks: times, step } = timeTicks(view.from, view.to, area.width / 86, offset);
        const perMicro = area.width / (view.to - view.from);
        c.beginPath();
        for (const t of times) {
            const x = Math.round(area.x + (t - view.from) * perMicro) + 0.5;
            c.moveTo(x, area.y);
            c.lineTo(x, area.y + area.height);
            if (x < area.x + 24 || x > area.x + area.width - 22) continue;
            const isMidnight = (t + offset) % 86400e6 === 0;
            c.fillText(isMidnight ? day(t, { year: false }) : timeOfDay(t, { seconds: step < 60e6, millis: step < 1e6 }), x, area.y + area.height + 6);
        }
        c.stroke();
    }

    #future(c, area, view) {
        const time = now();
        if (view.to <= time) return;
        const x = area.x + ((time - view.from) / (view.to - view.from)) * area.width;
        c.strokeStyle = this.#colours.muted;
        c.setLineDash([3, 3]);
        c.beginPath();
        c.moveTo(x, area.y);
        c.lineTo(x, area.y + area.height);
        c.stroke();
        c.setLineDash([]);
    }

    #shade(c, area, view, from, to) {
        const x = area.x + Math.max(0, (from - view.from) / LIVE_SPAN) * area.width;
        c.fillStyle = this.#colours.gap;
        c.fillRect(x, area.y, area.x + ((to - view.from) / LIVE_SPAN) * area.width - x, area.height);
    }

    #cursor(c, area, view, cursor) {
        if (cursor < view.from || cursor > view.to) return;
        const x = Math.round(area.x + ((cursor - view.from) / (view.to - view.from)) * area.width) + 0.5;
        c.strokeStyle = this.#colours.text;
        c.globalAlpha = 0.5;
        c.beginPath();
        c.moveTo(x, area.y);
        c.lineTo(x, area.y + area.height);
        c.stroke();
        c.globalAlpha = 1;
    }

    #select(c, area, view, series, shown, selection) {
        const statistics = series && selection ? statisticsOf(series, selection.from, selection.to, shown) : [];
        this.stats.hidden = statistics.length === 0;
        if (!selection) return;
        const x = (time) => area.x + Math.min(1, Math.max(0, (time - view.from) / (view.to - view.from))) * area.width;
        c.fillStyle = this.#colours.selection;
        c.globalAlpha = 0.16;
        c.fillRect(x(selection.from), area.y, x(selection.to) - x(selection.from), area.height);
        c.globalAlpha = 1;
        this.stats.replaceChildren(...statistics.map(({ name, unit, low, high, mean, change, count, isExact }) => h("div", null, h("dt", null, name),
            h("dd", null, `Δy ${this.#number(change)}, ${this.#number(low)} … ${this.#number(high)}, mean ${isExact ? "" : "about "}${this.#number(mean)}${unit && ` ${unit}`}, ${counted(count, "sample")}`))));
    }

    #liveExtent(ring, indices, from) {
        let low = Infinity;
        let high = -Infinity;
        for (const { column } of indices) {
            for (let i = ring.indexAt(from); i < ring.end; i += 1) {
                const value = ring.valueAt(i, column);
                if (value < low) low = value;
                if (value > high) high = value;
            }
        }
        return [low, high];
    }

    /** Shown columns with their place among `names`. @param {string[]} names */
    #indices(names) {
        const result = [];
        this.source.columns.forEach(({ name }, i) => {
            const column = names.indexOf(name);
            if (this.shown[i] && column >= 0) result.push({ column, colour: this.#colours.axes[this.#slot(i)], isCircular: isCircular(this.source.columns[i]) });
        });
        return result;
    }

    /** The colour of a column: x, y, z always have the same ones. */
    #slot(i) {
        const axis = /[xyz]$/.exec(this.source.columns[i].name);
        return axis && this.source.columns.length > 1 ? "xyz".indexOf(axis[0]) : /^qw$/.test(this.source.columns[i].name) ? 3 : i % 6;
    }

    #isShown(name) {
        const i = this.source.columns.findIndex((column) => column.name === name);
        return i >= 0 && this.shown[i];
    }

    #unit() {
        const units = new Set(this.source.columns.filter((_, i) => this.shown[i]).map(({ unit }) => unit));
        return units.size === 1 ? [...units][0] : "";
    }

    #legendItem(column, i) {
        const value = h("span", { class: "legend-value num" }, UNKNOWN);
        const element = h("button", { class: "legend-item", type: "button", "aria-pressed": String(this.shown[i]), title: column.unit ? `${column.name} in ${column.unit}` : column.name,
            data: { slot: String(this.#slot(i) + 1) },
            onclick: () => this.#toggle(i, element) }, h("span", { class: "swatch", "aria-hidden": "true" }), column.name, value);
        return { element, value };
    }

    #toggle(i, element) {
        this.shown[i] = !this.shown[i];
        element.setAttribute("aria-pressed", String(this.shown[i]));
        setText(this.unitText, this.#unit());
        this.#range = null;
        this.#rangeAt = 0;
        this.invalidate();
        this.onarrange();
    }

    /** @param {(string|undefined)[]|null} texts @param {string[]} names of their columns */
    #values(texts, names) {
        this.source.columns.forEach(({ name }, i) => {
            setText(this.legend[i].value, this.shown[i] && texts ? (texts[names.indexOf(name)] ?? UNKNOWN) : "");
        });
    }

    /** A value with one more decimal than the axis. */
    #number(value) {
        return fixed(value, this.#decimals);
    }

    #pastValues(series, cursor) {
        if (!series || cursor === null) {
            this.#values(null, []);
            setText(this.countText, "");
            return;
        }
        const perPixel = ((this.shownView?.to ?? 0) - (this.shownView?.from ?? 0)) / this.area.width;
        const i = rowAt(series, cursor, perPixel * 3);
        if (i < 0) {
            this.#values(null, []);
            setText(this.countText, "");
            return;
        }
        const count = series.counts?.[i] ?? 1;
        const means = count > 1 ? this.past.meansAt(i) : null;
        this.#values(series.columns.map((name, k) => this.#summary(series.low[k][i], series.high[k][i], means?.[name])), series.columns);
        setText(this.countText, counted(count, "sample"));
    }

    /** What was measured in a bucket: one value, or the range and the mean. */
    #summary(low, high, mean) {
        if (low === high || Number.isNaN(low)) return this.#number(low);
        // Of counters, the server sums: that is no mean.
        const isMean = mean !== undefined && mean >= low && mean <= high;
        return `${this.#number(low)} … ${this.#number(high)}${isMean ? `, mean ${this.#number(mean)}` : ""}`;
    }

    #note(text) {
        this.note.hidden = text === null;
        if (text !== null) setText(this.note, text);
    }

    #describe(when) {
        const text = `${streamTitle(this.source.stream)} of ${this.source.device}, ${when}${this.source.rate ? `, ${rate(this.source.rate)}` : ""}. Arrow keys move, plus and minus zoom, Shift with arrow keys selects.`;
        if (this.canvas.getAttribute("aria-label") !== text) this.canvas.setAttribute("aria-label", text);
    }

    #readColours() {
        this.#colours = {
            grid: token("--grid"), text: token("--text-3"), muted: token("--text-3"), gap: token("--gap"), selection: token("--accent"),
            axes: [1, 2, 3, 4, 5, 6].map((i) => token(`--axis-${i}`)), font: `11px ${token("--font")}`,
        };
        this.#dirty = true;
    }
}
