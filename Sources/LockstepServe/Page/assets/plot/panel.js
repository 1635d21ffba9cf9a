/** Several charts with a common time axis: live or past, zoomed and moved together. */

import { devicePath, request } from "../core/api.js";
import { now } from "../core/clock.js";
import { card, emptyState, h, icon, segmented, setText } from "../core/dom.js";
import { onFrame } from "../core/frames.js";
import { addressOf, showInAddress } from "../core/router.js";
import { store, stored } from "../core/settings.js";
import { announce } from "../core/shell.js";
import { markOf, momentParameters, plotsOf, plotsText, rangeOf, rangeParameters } from "../pure/address.js";
import { plottable } from "../pure/columns.js";
import { dateTime, duration, nearTime } from "../pure/format.js";
import { extended, followed, liveView, panned, recentView, selected, showing, zoomed } from "../pure/view.js";
import { Chart, LEFT } from "./chart.js";
import { askDownload } from "./download-dialog.js";
import { askDeletion } from "./delete-dialog.js";
import { ChartGestures } from "./gestures.js";
import { plotPicker } from "./picker.js";
import { Player } from "./player.js";
import { askRange } from "./range-dialog.js";
import { selectionBar } from "./selection-bar.js";

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
    /** Whether the plots are those that someone has chosen, not the usual ones. */
    isArranged = false;
    /** Whether they are those of a link, which do not replace those that the reader has chosen before. */
    #isOfLink = false;
    #cursor = null;
    /** The time that a person, a link or playback has marked. @type {number|null} */
    #mark = null;
    /** @type {{from: number, to: number}|null} */
    #selection = null;
    #showTimer = 0;
    #isOnCollectorTime = false;
    /** @type {import("../pure/recording.js").Marker[]} */
    #markers = [];
    /** A second session whose samples can be plotted too, and how much later it is than the times that are shown. @type {{id: string, shift: number}|null} */
    other = null;

    /**
     * @param {{live: import("../core/live.js").LiveSamples, moment: import("../device/moment.js").Moment, group: string, device: string, query: URLSearchParams, place?: string, isOnCollectorTime?: boolean, kept?: [string, string][]}} options
     *   `device` is the one whose plots do not show its name; `query` is that of the address; `place` is the name by which the chosen plots are kept; `kept` are parameters of the address that stay
     */
    constructor({ live, moment, group, device, query, kept = [], place = `${group}/${device}`, isOnCollectorTime = stored("plots.collectorTime", false) === true }) {
        this.moment = moment;
        this.place = place;
        this.kept = kept;
        this.#isOnCollectorTime = moment.isOnCollectorTime = isOnCollectorTime;
        this.player = new Player(moment, { onplay: () => this.#onplay(), onpause: () => this.#show() });
        this.bar = selectionBar({ onzoom: () => this.zoomToSelection(), ondownload: () => this.#download(), ondelete: () => this.#delete(), onclear: () => this.#setSelection(null) });
        this.#view = rangeOf(query, now()) ?? liveView(now());
        this.#mark = markOf(query);
        // What this person has chosen is in the address, too, for example after a reload.
        this.#isOfLink = query.has("plot") && query.getAll("plot").join() !== String(stored(`plots ${place}`, null));
        this.live = live;
        this.group = group;
        this.device = device;
        this.ranges = segmented({ label: "Time range", options: RANGES, value: this.#choice, onchange: (value) => this.#choose(value) });
        this.clock = h("button", { class: "button quiet", type: "button", "aria-pressed": String(this.#isOnCollectorTime),
            title: "Puts past samples of all devices on the collector's clock. Live plots keep the clocks of the devices.",
            onclick: () => this.#setCollectorTime(!this.#isOnCollectorTime) }, "Collector time");
        this.rangeText = h("span", { class: "card-note num" });
        const tool = (symbol, label, act) => h("button", { class: "button quiet icon-only", type: "button", "aria-label": label, title: label, onclick: act }, icon(symbol));
        this.picker = plotPicker({ charts: () => this.charts, other: () => this.other, onpick: (source, chart) => {
            if (!chart) return this.addChosen(source);
            chart.join(source);
            this.#arranged();
        } });
        const { element, body, heading } = card({ title: "Plots", id: "plots", className: "card-plots",
            tools: h("span", { class: "plot-tools" }, this.ranges.element, this.player.element, this.clock, tool("minus", "Zoom out", () => this.zoom(2)), tool("plus", "Zoom in", () => this.zoom(0.5)), tool("calendar", "Choose a time range", () => askRange(this.current(), (range) => {
            this.#unmark();
            this.#set(range);
        })), tool("download", "Download what is shown", () => this.#download()), tool("link", "Copy link to this moment", () => this.#copyLink()), this.picker.element) });
        heading.after(this.rangeText);
        this.element = element;
        this.list = h("div", { class: "charts" });
        this.empty = h("div", { hidden: true }, emptyState({ symbol: "wave", title: "No plot", text: "Add a plot of any stream of any device." }));
        body.append(this.bar.element, this.list, this.empty);
        this.stop = onFrame(() => this.#paint());
    }

    /** Adds a chart. @param {any} source @param {boolean} [isRemovable] */
    add(source, isRemovable = true) {
        const chart = new Chart(source, { live: this.live, showsDevice: source.device !== this.device || source.group !== this.group,
            onclose: isRemovable ? () => this.#remove(chart) : null, oncursor: (time) => { this.#cursor = time; }, onarrange: () => this.#changed() });
        chart.setCollectorTime(this.#isOnCollectorTime);
        chart.setMarkers(this.#markers);
        chart.gestures = new ChartGestures(chart, this);
        this.charts.push(chart);
        this.list.append(chart.element);
        this.empty.hidden = true;
        return chart;
    }

    /** Adds a chart that a person has chosen, and shows it. @param {any} source */
    addChosen(source) {
        this.add(source);
        this.#arranged();
        this.charts[this.charts.length - 1].element.scrollIntoView({ block: "nearest" });
    }

    /**
     * Adds plots that were chosen before. Returns whether there are any, or none were chosen.
     * @param {unknown[]} chosen as in an address @param {Map<string, Promise<any>>} details of devices that are known already @param {AbortSignal} signal
     */
    async restore(chosen, details, signal) {
        if (this.isArranged) return true;
        this.isArranged = true;
        const all = chosen.map((text) => plotsOf(String(text))).filter((plots) => plots.length > 0);
        for (const plots of all) {
            let chart = null;
            for (const plot of plots) {
                const key = `${plot.group}/${plot.device}`;
                if (!details.has(key)) details.set(key, request(devicePath(plot.group, plot.device), { signal }).catch(() => null));
                const entry = (await details.get(key))?.streams.find(({ stream }) => stream === plot.stream);
                if (signal.aborted) return true;
                if (!entry || (plot.session && plot.session !== this.other?.id)) continue;
                const source = { ...plot, rate: entry.rate, columns: plottable(entry), shown: plot.columns, shift: plot.session ? this.other?.shift : 0 };
                if (chart) chart.join(source);
                else chart = this.add(source);
            }
        }
        this.empty.hidden = this.charts.length > 0;
        // What is not there at present, the reader may choose again.
        this.isArranged = this.charts.length > 0 || !all.length;
        // Instead of a link without any, the plots of the reader are shown.
        if (!this.isArranged) this.#isOfLink = false;
        return this.isArranged;
    }

    /** Sets the second session, and moves its curves. @param {{id: string, shift: number}} other */
    align(other) {
        if (other.id === this.other?.id && other.shift === this.other.shift) return;
        this.other = other;
        for (const chart of this.charts) chart.setShift(other.shift);
    }

    /** Draws markers. @param {import("../pure/recording.js").Marker[]} markers in order of time */
    setMarkers(markers) {
        if (JSON.stringify(markers) === JSON.stringify(this.#markers)) return;
        this.#markers = markers;
        for (const chart of this.charts) chart.setMarkers(markers);
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
        this.#unmark();
        this.#setSelection(null);
        this.#set(liveView(now()));
    }

    /** Shows the five minutes before a time. @param {number} time µs */
    showUntil(time) {
        this.showRange({ live: false, from: time - 290e6, to: time + 10e6 });
    }

    /**
     * Shows a range that nobody has chosen: the address stays that of the newest samples.
     * @param {import("../pure/view.js").TimeView} view @param {number} [mark] the moment that is shown, unless one is marked
     */
    showRange(view, mark) {
        this.#mark ??= mark ?? null;
        this.#set(view, false);
    }

    /** The time that is marked, or null. */
    get markedTime() {
        return this.#mark;
    }

    /** Marks a moment, and moves the range to it. @param {number} time */
    showMoment(time) {
        this.player.pause();
        this.mark(time);
        this.#set(showing({ ...this.current(), live: false }, time));
    }

    /** Moves the mark by a hundredth of the range. Without a mark, it begins in the middle of the range. @param {number} by -1 or 1 */
    moveMark(by) {
        const { from, to } = this.current();
        const begin = this.#mark !== null && from <= this.#mark && this.#mark <= to ? this.#mark : (from + to) / 2;
        const time = Math.min(now(), begin + ((to - from) / 100) * by);
        this.showMoment(time);
        announce(dateTime(time));
    }

    /** Plots were added or removed: those that a person has chosen for this device are shown again. */
    #arranged() {
        this.#isOfLink = false;
        this.#changed();
    }

    /** What is chosen is part of the address. */
    #changed() {
        this.isArranged = true;
        if (!this.#isOfLink) store(`plots ${this.place}`, this.#plots());
        this.#show();
    }

    #plots() {
        return this.charts.map((chart) => plotsText(chart.plotAddresses));
    }

    /** @param {Record<string, string>} range @returns {[string, string][]} */
    #parameters(range) {
        const plots = this.isArranged ? this.#plots() : [];
        // An empty list would be no list.
        return [...this.kept, ...Object.entries(range), .../** @type {[string, string][]} */ ((this.isArranged && !plots.length ? ["none"] : plots).map((plot) => ["plot", plot]))];
    }

    /** A movement changes the range many times; browsers limit the changes of an address. */
    #show() {
        clearTimeout(this.#showTimer);
        this.#showTimer = setTimeout(() => this.#showNow(), 250);
    }

    #showNow() {
        const mark = this.#mark === null ? {} : { at: String(Math.round(this.#mark)) };
        showInAddress(this.#parameters({ ...rangeParameters(this.#view), ...mark }));
    }

    /** Copies an address that shows this range at this time to everyone who may read. */
    async #copyLink() {
        const view = this.current();
        const at = this.#cursor ?? this.#mark ?? view.to;
        const address = addressOf(location.hash.split("?")[0], this.#parameters(momentParameters(view, at)));
        try {
            await navigator.clipboard.writeText(new URL(address, location.href).href);
            this.#say("Link copied");
        } catch {
            // Browsers give pages without HTTPS no clipboard.
            history.replaceState(history.state, "", address);
            this.#say("The link is in the address bar");
        }
    }

    #say(text) {
        announce(text);
        this.#said = { text, until: performance.now() + 4000 };
    }

    #said = { text: "", until: 0 };

    /** @param {number|null} time */
    setCursor(time) {
        this.#cursor = time;
    }

    /** Marks a moment, which all cards of the device show; null ends this. @param {number|null} time */
    mark(time) {
        if (time !== null && this.#view.live) this.#set({ ...this.current(), live: false });
        this.#mark = time;
        this.#show();
    }

    #unmark() {
        this.player.pause();
        this.#mark = null;
    }

    /** Forgets the selection, or else the mark. */
    clear() {
        if (this.#selection) this.#setSelection(null);
        else {
            this.#unmark();
            this.#show();
        }
    }

    /** Selects what is between two times. @param {number} a @param {number} b */
    select(a, b) {
        if (this.#view.live) this.#set({ ...this.current(), live: false });
        this.#setSelection(selected(this.#view, a, b));
    }

    /** Moves the end of the selection by a hundredth of the range. @param {number} by */
    extendSelection(by) {
        const view = this.current();
        const next = extended(view, this.#selection, this.#mark ?? (view.from + view.to) / 2, by);
        this.select(next.from, next.to);
    }

    zoomToSelection() {
        if (!this.#selection) return;
        this.#set({ live: false, ...this.#selection });
        this.#setSelection(null);
    }

    /** @param {{from: number, to: number}|null} selection */
    #setSelection(selection) {
        this.#selection = selection;
        this.bar.update(selection, !this.#isOnCollectorTime);
    }

    #download() {
        const { from, to } = this.#selection ?? this.current();
        if (this.charts.length) askDownload(this.charts, { from, to }, this.#isOnCollectorTime);
    }

    #delete() {
        if (this.#selection && this.charts.length) askDeletion(this.charts.flatMap(({ curves }) => curves.map(({ source }) => source)), this.#selection, () => this.#reload());
    }

    /** Loads what is shown again. */
    #reload() {
        for (const chart of this.charts) chart.reload(true);
    }

    togglePlayback() {
        if (this.moment.isPlaying) this.player.pause();
        else this.player.play();
    }

    #onplay() {
        const view = this.current();
        if (view.live || view.follows) this.#set({ live: false, from: view.from, to: view.to });
        if (this.#mark === null || this.#mark < view.from || this.#mark >= view.to) this.#mark = view.from;
        this.#cursor = null;
    }

    /** The next moment of playback, which stays in view. */
    #play() {
        if (this.#mark === null) return;
        const next = this.player.step(this.#mark, now());
        if (next === null) this.goLive();
        else {
            this.#mark = next;
            const view = showing(this.#view, next);
            if (view !== this.#view) this.#set(view, false);
        }
    }

    close() {
        clearTimeout(this.#showTimer);
        this.stop();
        for (const chart of this.charts) chart.close();
    }

    #choose(value) {
        this.#unmark();
        this.#set(value === "live" ? liveView(now()) : recentView(now(), Number(value) * 1e6));
        for (const chart of this.charts) chart.reload();
    }

    /** @param {boolean} isOn */
    #setCollectorTime(isOn) {
        this.#isOnCollectorTime = isOn;
        this.moment.setCollectorTime(isOn);
        store("plots.collectorTime", isOn);
        this.clock.setAttribute("aria-pressed", String(isOn));
        for (const chart of this.charts) chart.setCollectorTime(isOn);
        this.bar.update(this.#selection, !isOn);
    }

    /** The button of the range that is shown, or null. */
    get #choice() {
        const { live, follows, from, to } = this.#view;
        const span = String(Math.round((to - from) / 1e6));
        return live ? "live" : follows && RANGES.some(({ value }) => value === span) ? span : null;
    }

    /** @param {import("../pure/view.js").TimeView} view @param {boolean} [isChosen] whether it belongs into the address */
    #set(view, isChosen = true) {
        this.#view = view;
        this.ranges.set(this.#choice);
        if (isChosen) this.#show();
        for (const chart of this.charts) chart.invalidate();
    }

    #remove(chart) {
        chart.close();
        chart.element.remove();
        this.charts = this.charts.filter((other) => other !== chart);
        this.empty.hidden = this.charts.length > 0;
        this.#arranged();
    }

    #paint() {
        if (this.moment.isPlaying) this.#play();
        const view = this.#view = followed(this.#view, now());
        const left = Math.max(LEFT, ...this.charts.map((chart) => chart.neededLeft));
        const cursor = this.#cursor ?? this.#mark;
        this.moment.setView(view);
        this.moment.set(cursor);
        let isMoving = this.moment.isPlaying;
        for (const chart of this.charts) if (chart.paint(view, cursor, this.#selection, left)) isMoving = true;
        if (performance.now() < this.#said.until) setText(this.rangeText, this.#said.text);
        else if (cursor !== null) setText(this.rangeText, dateTime(cursor));
        else if (view.live) setText(this.rangeText, this.charts[0]?.delay ? `${this.charts[0].delay.toFixed(1)} s behind` : "");
        else setText(this.rangeText, `${nearTime(view.from, now())} – ${view.follows ? "now" : nearTime(view.to, now())} · ${duration((view.to - view.from) / 1e6)}`);
        return isMoving;
    }
}
