/** Several charts with a common time axis: live or past, zoomed and moved together. */

import { now } from "../core/clock.js";
import { card, emptyState, h, icon, segmented, setText } from "../core/dom.js";
import { onFrame } from "../core/frames.js";
import { store, stored } from "../core/settings.js";
import { dateTime, duration, nearTime } from "../pure/format.js";
import { followed, liveView, panned, recentView, zoomed } from "../pure/view.js";
import { Chart, LEFT } from "./chart.js";
import { ChartGestures } from "./gestures.js";
import { plotPicker } from "./picker.js";

const RANGES = [
    { value: "live", text: "Live", title: "The newest 30 s" },
    { value: "300", text: "5 min" },
    { value: "3600", text: "1 h" },
    { value: "21600", text: "6 h" },
    { value: "86400", text: "24 h" },
    { value: "604800", text: "7 d" },
];

export class PlotPanel {
    /** @type {Chart[]} */
    charts = [];
    #view = liveView(now());
    /** Whether the reader has added or removed a plot. */
    isArranged = false;
    #cursor = null;
    #isOnCollectorTime = stored("plots.collectorTime", false) === true;

    /** @param {{live: import("../core/live.js").LiveSamples, group: string, device: string}} options */
    constructor({ live, group, device }) {
        this.live = live;
        this.group = group;
        this.device = device;
        this.ranges = segmented({ label: "Time range", options: RANGES, value: "live", onchange: (value) => this.#choose(value) });
        this.clock = h("button", { class: "button quiet", type: "button", "aria-pressed": String(this.#isOnCollectorTime),
            title: "Puts past samples of all devices on the collector's clock. Live plots keep the clocks of the devices.",
            onclick: () => this.#setCollectorTime(!this.#isOnCollectorTime) }, "Collector time");
        this.rangeText = h("span", { class: "card-note num" });
        const tool = (symbol, label, act) => h("button", { class: "button quiet icon-only", type: "button", "aria-label": label, title: label, onclick: act }, icon(symbol));
        this.picker = plotPicker({ onpick: (source) => {
            this.isArranged = true;
            this.add(source, true);
        } });
        const { element, body, heading } = card({ title: "Plots", id: "plots", className: "card-plots",
            tools: h("span", { class: "plot-tools" }, this.ranges.element, this.clock, tool("minus", "Zoom out", () => this.zoom(2)), tool("plus", "Zoom in", () => this.zoom(0.5)), this.picker.element) });
        heading.after(this.rangeText);
        this.element = element;
        this.list = h("div", { class: "charts" });
        this.empty = h("div", { hidden: true }, emptyState({ symbol: "wave", title: "No plot", text: "Add a plot of any stream of any device." }));
        body.append(this.list, this.empty);
        this.stop = onFrame(() => this.#paint());
    }

    /** Adds a chart. @param {any} source @param {boolean} [isRemovable] */
    add(source, isRemovable = true) {
        const chart = new Chart(source, { live: this.live, showsDevice: source.device !== this.device || source.group !== this.group,
            onclose: isRemovable ? () => this.#remove(chart) : null, oncursor: (time) => { this.#cursor = time; } });
        chart.past.setCollectorTime(this.#isOnCollectorTime);
        chart.gestures = new ChartGestures(chart, this);
        this.charts.push(chart);
        this.list.append(chart.element);
        this.empty.hidden = true;
    }

    get view() {
        return this.#view;
    }

    /** The view that is drawn at this moment. */
    current() {
        return this.#view.live ? { ...liveView(now()), ...(this.charts[0]?.shownView ?? {}) } : this.#view;
    }

    /** @param {number} factor @param {number} [about] time in µs */
    zoom(factor, about) {
        const view = this.current();
        if (this.#view.live && factor > 1) {
            this.#set(recentView(now(), 60e6));
            return;
        }
        this.#set(zoomed(view, factor, about ?? (view.from + view.to) / 2, now()));
    }

    /** @param {number} share of the span */
    pan(share) {
        if (this.#view.live && share >= 0) return;
        this.#set(panned(this.current(), share, now()));
    }

    goLive() {
        this.#set(liveView(now()));
    }

    /** Shows the five minutes before a time. @param {number} time µs */
    showUntil(time) {
        this.#set({ live: false, from: time - 290e6, to: time + 10e6 });
    }

    /** @param {number|null} time */
    setCursor(time) {
        this.#cursor = time;
    }

    close() {
        this.stop();
        for (const chart of this.charts) chart.close();
    }

    #choose(value) {
        this.#set(value === "live" ? liveView(now()) : recentView(now(), Number(value) * 1e6));
        for (const chart of this.charts) chart.past.reset();
    }

    /** @param {boolean} isOn */
    #setCollectorTime(isOn) {
        this.#isOnCollectorTime = isOn;
        store("plots.collectorTime", isOn);
        this.clock.setAttribute("aria-pressed", String(isOn));
        for (const chart of this.charts) {
            chart.past.setCollectorTime(isOn);
            chart.invalidate();
        }
    }

    #set(view) {
        this.#view = view;
        const span = Math.round((view.to - view.from) / 1e6);
        this.ranges.set(view.live ? "live" : view.follows && RANGES.some(({ value }) => value === String(span)) ? String(span) : null);
        for (const chart of this.charts) chart.invalidate();
    }

    #remove(chart) {
        this.isArranged = true;
        chart.close();
        chart.element.remove();
        this.charts = this.charts.filter((other) => other !== chart);
        this.empty.hidden = this.charts.length > 0;
    }

    #paint() {
        const view = this.#view = followed(this.#view, now());
        const left = Math.max(LEFT, ...this.charts.map((chart) => chart.neededLeft));
        for (const chart of this.charts) chart.paint(view, this.#cursor, left);
        if (this.#cursor !== null) setText(this.rangeText, dateTime(this.#cursor));
        else if (view.live) setText(this.rangeText, this.charts[0]?.delay ? `${this.charts[0].delay.toFixed(1)} s behind` : "");
        else setText(this.rangeText, `${nearTime(view.from, now())} – ${view.follows ? "now" : nearTime(view.to, now())} · ${duration((view.to - view.from) / 1e6)}`);
    }
}
