/** A chart of one stream of one device, or of several, live or past. */

import { fitCanvas } from "../core/canvas.js";
import { now } from "../core/clock.js";
import { h, icon, setText } from "../core/dom.js";
import { wake, watchVisible } from "../core/frames.js";
import { onThemeChange, token } from "../core/theme.js";
import { onUnitsChange } from "../core/units.js";
import { boundText } from "../pure/clock-texts.js";
import { streamTitle } from "../pure/columns.js";
import { ofSession } from "../pure/comparison.js";
import { boundOf, sourceText } from "../pure/envelope.js";
import { counted, fixed, rate, timeOfDay } from "../pure/format.js";
import { steadyRange } from "../pure/scale.js";
import { LIVE_SPAN } from "../pure/view.js";
import { askAxis } from "./axis-dialog.js";
import { Curves } from "./curves.js";
import { paintFrame, paintLiveTicks, paintTime, paintTimeTicks } from "./frame-painter.js";
import { paintMarkers } from "./marker-painter.js";
import { paintGaps } from "./past-painter.js";

/** The room for the labels of the value axis, at least. */
export const LEFT = 46;
const BOTTOM = 20;
const TOP = 6;
/** The height of the title of an image. */
const HEAD = 26;

export class Chart {
    /** @type {Curves[]} */
    curves = [];
    #dirty = true;
    #range = null;
    #rangeAt = 0;
    #legendAt = 0;
    #colours = {};
    #left = LEFT;
    /** The room that the labels of the value axis need. */
    neededLeft = LEFT;
    #decimals = 3;
    #isOnCollectorTime = false;
    /** @type {import("../pure/recording.js").Marker[]} */
    #markers = [];

    /**
     * @param {any} source of the first curves, with the fixed limits of the value axis, `axis`
     * @param {{live: import("../core/live.js").LiveSamples, showsDevice: boolean, onclose: (() => void)|null, oncursor: (time: number|null) => void, onarrange: () => void}} options
     */
    constructor(source, { live, showsDevice, onclose, oncursor, onarrange }) {
        this.source = source;
        this.live = live;
        this.oncursor = oncursor;
        this.onarrange = onarrange;
        this.axis = source.axis ?? null;
        this.unitText = h("span", { class: "chart-unit" });
        const title = h("span", { class: "chart-title" }, showsDevice && h("b", null, source.device), streamTitle(source.stream) + ofSession(source), this.unitText);
        this.countText = h("span", { class: "chart-unit chart-count num" });
        this.boundText = h("span", { class: "chart-unit chart-bound num", title: "The largest possible error of the times in view, on the collector's clock" });
        this.sourceText = h("span", { class: "chart-unit chart-source", title: "Of what was loaded, also beside the view. Summaries of minutes have the least and the greatest value, the mean and the number of the samples, and may be kept longer" });
        this.axisButton = h("button", { class: "button quiet icon-only small", type: "button", "aria-label": `Value axis of ${source.stream}`, title: "Value axis: fixed limits",
            "aria-pressed": String(this.axis !== null), onclick: () => askAxis(this.#shownRange, this.axis, (axis) => this.#fixAxis(axis)) }, icon("lock"));
        const close = onclose && h("button", { class: "button quiet icon-only small", type: "button", "aria-label": `Remove plot of ${source.stream}`, title: "Remove plot", onclick: onclose }, icon("close"));
        this.stats = h("dl", { class: "chart-stats num", hidden: true });
        this.canvas = h("canvas", { class: "chart-canvas", tabIndex: 0, role: "img" });
        this.note = h("div", { class: "chart-note", hidden: true });
        this.head = h("div", { class: "chart-head" }, title, this.sourceText, this.boundText, this.countText, h("span", { class: "chart-tools" }, this.axisButton, close));
        this.element = h("div", { class: "chart" }, this.head, this.stats, h("div", { class: "chart-area" }, this.canvas, this.note));
        this.fitted = fitCanvas(this.canvas, () => this.invalidate());
        this.visible = watchVisible(this.element);
        const stops = [onThemeChange(() => this.#readColours()), onUnitsChange(() => this.#redraw())];
        this.stop = () => stops.forEach((stop) => stop());
        this.join(source);
        this.#readColours();
        this.#describe("waiting for samples");
        this.canvas.addEventListener("pointerleave", () => this.oncursor(null));
    }

    /** Adds the curves of another stream. @param {any} source */
    join(source) {
        const isFirst = this.curves.length === 0;
        const curves = new Curves(source, { live: this.live, place: this.curves.length, label: isFirst ? null : `${source.device} ${streamTitle(source.stream)}${ofSession(source)}`, onchange: () => this.invalidate(),
            ontoggle: () => this.#rearranged(), onremove: () => {
                curves.close();
                curves.element.remove();
                this.curves = this.curves.filter((other) => other !== curves);
                this.#rearranged();
            } });
        curves.past.setCollectorTime(this.#isOnCollectorTime);
        this.curves.push(curves);
        this.head.append(curves.element);
        this.#redraw();
    }

    get area() {
        return { x: this.#left, y: TOP, width: Math.max(10, this.fitted.width - this.#left - 1), height: Math.max(10, this.fitted.height - BOTTOM - TOP) };
    }

    /** The streams of the plot as they are in an address. @returns {import("../pure/address.js").PlotAddress[]} */
    get plotAddresses() {
        return this.curves.map((curves, i) => ({ ...curves.plotAddress, axis: i === 0 ? this.axis : null }));
    }

    invalidate() {
        this.#dirty = true;
        wake();
    }

    /** Loads the past again. @param {boolean} [isChanged] whether what is shown is no longer true */
    reload(isChanged = false) {
        for (const { past } of this.curves) {
            if (isChanged) past.forget();
            else past.reset();
        }
        this.invalidate();
    }

    /** Moves the curves of another session. @param {number} shift how much later it is than the times that are shown, in µs */
    setShift(shift) {
        for (const curves of this.curves) if (curves.source.session) curves.setShift(shift);
        this.invalidate();
    }

    /** @param {import("../pure/recording.js").Marker[]} markers in order of time */
    setMarkers(markers) {
        this.#markers = markers;
        this.invalidate();
    }

    /** @param {boolean} isOn */
    setCollectorTime(isOn) {
        this.#isOnCollectorTime = isOn;
        for (const { past } of this.curves) past.setCollectorTime(isOn);
        this.invalidate();
    }

    close() {
        for (const curves of this.curves) curves.close();
        this.fitted.stop();
        this.visible.stop();
        this.stop();
    }

    /**
     * Draws the chart, if anything has changed. Returns whether it has.
     * @param {import("../pure/view.js").TimeView} view @param {number|null} cursor time in µs @param {{from: number, to: number}|null} selection
     * @param {number} left the room for labels: the same for all charts, so that equal times are one below the other
     */
    paint(view, cursor, selection, left = LEFT) {
        if (left !== this.#left) {
            this.#left = left;
            this.note.style.left = `${left}px`;
            this.invalidate();
        }
        if (!this.visible.visible || this.fitted.width === 0) return false;
        if (!view.live) return this.#paintPast(view, cursor, selection);
        this.#paintLive(cursor);
        return true;
    }

    #paintLive(cursor) {
        setText(this.sourceText, "");
        setText(this.boundText, "");
        const others = this.curves.filter(({ source }) => source.session);
        setText(this.countText, others.length ? "No live samples of the other session" : "");
        const streams = this.curves.flatMap(({ stream }) => stream ?? []);
        // The samples of all streams have arrived up to this time.
        const time = streams.length ? Math.min(...streams.map((stream) => this.live.playheadOf(stream))) : now() - 1e6;
        const view = { from: time - LIVE_SPAN, to: time };
        this.shownView = view;
        /** Seconds between a sample and its place at the right edge: the agent's window, and the way to here. */
        this.delay = streams.length ? (now() - time) / 1e6 : null;
        const { context: c, scale } = this.fitted;
        const { area } = this;
        if (performance.now() - this.#rangeAt > 200) {
            this.#rangeAt = performance.now();
            const extents = this.curves.map((curves) => curves.liveExtent(view.from));
            this.#range = steadyRange(this.#range, Math.min(...extents.map(({ low }) => low)), Math.max(...extents.map(({ high }) => high)));
        }
        const range = this.#frame(c, scale, area);
        paintLiveTicks(c, area);
        const hasSamples = this.curves.filter((curves) => curves.paintLive(c, scale, area, range, time, this.#colours)).length > 0;
        paintMarkers(c, area, view, this.#markers, this.#colours);
        this.stats.hidden = true;
        this.#note(hasSamples || others.length === this.curves.length ? null : streams.some(({ ring }) => ring.newest !== null) ? "No samples in the last 30 s" : "Waiting for samples");
        this.#cursor(c, area, view, cursor);
        if (performance.now() - this.#legendAt > 180) {
            this.#legendAt = performance.now();
            for (const curves of this.curves) curves.showLiveValues(cursor ?? time, this.#decimals);
            this.#describe(hasSamples ? "live" : "no live samples");
        }
        this.#dirty = true;
    }

    #paintPast(view, cursor, selection) {
        this.shownView = view;
        const { area } = this;
        for (const { past } of this.curves) past.show(view, area.width);
        if (!this.#dirty && cursor === this.drawnCursor && view === this.drawnView && selection === this.drawnSelection) return false;
        this.#dirty = false;
        this.drawnCursor = cursor;
        this.drawnView = view;
        this.drawnSelection = selection;
        const { context: c, scale } = this.fitted;
        const { isAhead, isLoading, problem, series } = this.curves[0].past;
        const extents = this.curves.flatMap((curves) => curves.pastExtent(view) ?? []);
        if (extents.length) this.#range = steadyRange(null, Math.min(...extents.map(({ low }) => low)), Math.max(...extents.map(({ high }) => high)));
        const range = this.#frame(c, scale, area);
        paintTimeTicks(c, area, view);
        c.save();
        c.beginPath();
        c.rect(area.x, area.y, area.width, area.height);
        c.clip();
        if (series) paintGaps(c, area, series, view, now() - 3e6, this.#colours.gap, extents.length ? this.#colours.text : null);
        for (const curves of this.curves) curves.paintPast(c, area, view, range, this.#colours);
        paintMarkers(c, area, view, this.#markers, this.#colours);
        paintTime(c, area, view, now(), this.#colours.text, [3, 3]);
        c.restore();
        this.#note(problem ?? ((isAhead || series) && !extents.length && !isLoading ? "No samples in this period" : series ? null : "Loading"));
        this.element.toggleAttribute("data-loading", this.curves.some(({ past }) => past.isLoading));
        this.#select(c, area, view, selection);
        this.#cursor(c, area, view, cursor);
        const reach = ((view.to - view.from) / area.width) * 3;
        const counts = this.curves.map((curves) => curves.showPastValues(cursor, reach, this.#decimals));
        setText(this.countText, counts[0] === null ? "" : counted(counts[0], "sample"));
        setText(this.sourceText, sourceText(this.curves.flatMap(({ past }) => past.series ?? [])));
        const bound = series && boundOf(series, view.from, view.to);
        setText(this.boundText, bound === null ? "" : boundText(bound));
        this.#describe(`${timeOfDay(view.from)} to ${timeOfDay(view.to)}`);
        return true;
    }

    /** Draws background, grid and value axis; returns the range of the axis. */
    #frame(c, scale, area) {
        const range = this.#shownRange;
        const { widest, decimals } = paintFrame(c, scale, this.fitted, area, range, this.#colours);
        this.#decimals = decimals;
        // In steps, so that the charts do not twitch.
        this.neededLeft = Math.max(LEFT, Math.ceil((widest + 10) / 8) * 8);
        return range;
    }

    #cursor(c, area, view, cursor) {
        if (cursor === null) return;
        c.globalAlpha = 0.5;
        paintTime(c, area, view, cursor, this.#colours.text, []);
        c.globalAlpha = 1;
    }

    #select(c, area, view, selection) {
        const statistics = selection ? this.curves.flatMap((curves, i) => curves.statistics(selection).map((item) => ({ ...item, label: i === 0 ? item.name : `${curves.title} ${item.name}` }))) : [];
        this.stats.hidden = statistics.length === 0;
        if (!selection) return;
        const x = (time) => area.x + Math.min(1, Math.max(0, (time - view.from) / (view.to - view.from))) * area.width;
        c.fillStyle = this.#colours.selection;
        c.globalAlpha = 0.16;
        c.fillRect(x(selection.from), area.y, x(selection.to) - x(selection.from), area.height);
        c.globalAlpha = 1;
        const number = (value) => fixed(value, this.#decimals);
        this.stats.replaceChildren(...statistics.map(({ label, unit, low, high, mean, change, count }) => h("div", null, h("dt", null, label),
            h("dd", null, [change !== null && `Δy ${number(change)}`, `${number(low)} … ${number(high)}${mean === null && unit ? ` ${unit}` : ""}`,
                mean !== null && `mean ${number(mean)}${unit && ` ${unit}`}`, counted(count, "sample")].filter(Boolean).join(", ")))));
    }

    /** The range of the value axis. */
    get #shownRange() {
        return this.axis ?? this.#range ?? { low: -1, high: 1 };
    }

    /** @param {{low: number, high: number}|null} axis */
    #fixAxis(axis) {
        this.axis = axis;
        this.axisButton.setAttribute("aria-pressed", String(axis !== null));
        this.#rearranged();
    }

    /** The plot with its title and legend as an image. @returns {Promise<Blob>} */
    image() {
        const { width, height, scale } = this.fitted;
        const canvas = h("canvas", { width: this.canvas.width, height: this.canvas.height + HEAD * scale });
        const c = canvas.getContext("2d");
        c.scale(scale, scale);
        c.fillStyle = token("--surface");
        c.fillRect(0, 0, width, height + HEAD);
        c.font = `560 13px ${token("--font")}`;
        c.textBaseline = "middle";
        let x = 8;
        const write = (text, colour) => {
            c.fillStyle = colour;
            c.fillText(text, x, HEAD / 2);
            x += c.measureText(text).width + 12;
        };
        for (const curves of this.curves) {
            write([curves.title, ...new Set(curves.units.filter(Boolean))].join(", "), token("--text"));
            curves.source.columns.forEach(({ name }, i) => curves.shown[i] && write(name, this.#colours.axes[curves.slot(i)]));
        }
        c.drawImage(this.canvas, 0, HEAD, width, height);
        return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser cannot make an image of this plot"))), "image/png"));
    }

    /** A person has changed what is shown. */
    #rearranged() {
        this.#redraw();
        this.onarrange();
    }

    /** Draws the chart with a value axis for what is shown now. */
    #redraw() {
        this.#showUnit();
        this.#range = null;
        this.#rangeAt = 0;
        this.invalidate();
    }

    /** The unit, if all columns have the same. */
    #showUnit() {
        const units = new Set(this.curves.flatMap((curves) => curves.units));
        setText(this.unitText, units.size === 1 ? [...units][0] : "");
    }

    #note(text) {
        this.note.hidden = text === null;
        if (text !== null) setText(this.note, text);
    }

    #describe(when) {
        const names = this.curves.map(({ source }) => `${streamTitle(source.stream)} of ${source.device}${ofSession(source)}`).join(", ");
        const text = `${names}, ${when}${this.source.rate ? `, ${rate(this.source.rate)}` : ""}. Arrow keys move, plus and minus zoom, comma and full stop move the mark, Shift with arrow keys selects.`;
        if (this.canvas.getAttribute("aria-label") !== text) this.canvas.setAttribute("aria-label", text);
    }

    #readColours() {
        this.#colours = {
            grid: token("--grid"), text: token("--text-3"), gap: token("--gap"), selection: token("--accent"),
            axes: [1, 2, 3, 4, 5, 6].map((i) => token(`--axis-${i}`)), font: `11px ${token("--font")}`,
        };
        this.#dirty = true;
    }
}
