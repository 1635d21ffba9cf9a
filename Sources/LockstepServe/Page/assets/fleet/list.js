/** The list of devices: only the rows in view exist in the document. */

import { h, icon } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { routeTo } from "../core/router.js";
import { onThemeChange } from "../core/theme.js";
import { rowForKey, scrollToRow, visibleRows } from "../pure/windowing.js";
import { History } from "./history.js";
import { DeviceRow } from "./row.js";

/** With the names of their cells. Those without one are always shown. */
const COLUMNS = [
    { key: "name", text: "Device" },
    { key: "since", text: "State", cell: "state" },
    { key: "problems", text: "Problem", cell: "problem" },
    { key: "age", cell: "age", text: "Sample", end: true, title: "Age of the last sample" },
    { key: "rate", cell: "rate", text: "Rate", end: true, title: "Samples per second of all streams" },
    { key: null, cell: "spark", text: "Last 2 min", title: "Samples per second of the fastest stream" },
    { key: "battery", cell: "battery", text: "Battery", end: true },
    { key: "missing", cell: "missing", text: "Missing", end: true, title: "Batches that are not in the store, and that the device no longer has" },
];

/** Columns that a person may hide. */
export const CHOSEN = COLUMNS.flatMap(({ cell, text }) => (cell ? [{ cell, text }] : []));

const narrow = matchMedia("(max-width: 860px)");

export class DeviceList {
    #keys = [];
    /** @type {Map<string, DeviceRow>} */
    #rows = new Map();
    /** @type {DeviceRow[]} rows that are out of view, for reuse */
    #spare = [];
    #active = 0;
    #history = new History();
    #headers;

    /** @param {{onsort: (sort: string) => void}} options */
    constructor({ onsort }) {
        this.#headers = COLUMNS.map(({ key, cell, text, end, title }) => h("span", { role: "columnheader", class: end ? "end" : "", title: title ?? "", data: { key: key ?? "", cell: cell ?? "" } },
            key ? h("button", { class: "sort-button", type: "button", onclick: () => onsort(key) }, text, icon("chevron")) : text));
        this.head = h("div", { role: "rowgroup" }, h("div", { class: "fleet-head", role: "row" }, ...this.#headers));
        this.sizer = h("div", { class: "fleet-sizer", role: "rowgroup" });
        this.scroll = h("div", { class: "fleet-scroll", role: "presentation", tabIndex: -1 }, this.sizer);
        this.element = h("div", { class: "fleet-table", role: "grid", "aria-label": "Devices", "aria-colcount": COLUMNS.length }, this.head, this.scroll);
        this.scroll.addEventListener("scroll", () => this.refresh(), { passive: true });
        this.scroll.addEventListener("keydown", (event) => this.#key(event));
        this.sizer.addEventListener("click", (event) => this.#click(event));
        this.sizer.addEventListener("focusin", (event) => {
            const row = event.target.closest(".fleet-row");
            if (row) this.#setActive(Number(row.getAttribute("aria-rowindex")) - 2);
        });
        this.observer = new ResizeObserver(() => this.refresh());
        this.observer.observe(this.scroll);
        this.stopTheme = onThemeChange(() => this.#redraw());
    }

    get count() {
        return this.#keys.length;
    }

    get #rowHeight() {
        return narrow.matches ? 72 : 46;
    }

    /** @param {string[]} hidden cells of the columns that are not shown */
    hide(hidden) {
        this.element.dataset.hidden = hidden.join(" ");
        for (const header of this.#headers) header.hidden = hidden.includes(header.dataset.cell ?? "");
        this.element.style.setProperty("--columns", ["name", ...CHOSEN.map(({ cell }) => cell)].filter((cell) => !hidden.includes(cell)).map((cell) => `var(--w-${cell})`).join(" "));
    }

    /** @param {string[]} keys @param {string} sort @param {boolean} isReversed */
    setOrder(keys, sort, isReversed) {
        this.#keys = keys;
        this.element.toggleAttribute("data-empty", keys.length === 0);
        this.element.setAttribute("aria-rowcount", String(keys.length + 1));
        for (const header of this.#headers) {
            if (header.dataset.key && header.dataset.key === sort) header.setAttribute("aria-sort", (sort === "name" || sort === "battery") !== isReversed ? "ascending" : "descending");
            else header.removeAttribute("aria-sort");
        }
    }

    /** @param {boolean} isLoading */
    setLoading(isLoading) {
        this.sizer.querySelectorAll(".fleet-skeleton").forEach((row) => row.remove());
        if (!isLoading) return;
        for (let i = 0; i < 8; i += 1) {
            this.sizer.append(h("div", { class: "fleet-row fleet-skeleton", "aria-hidden": "true", style: { transform: `translateY(${i * this.#rowHeight}px)` } },
                h("span", { class: "skeleton", style: { height: "12px", width: "110px" } })));
        }
    }

    /** Renders the rows in view with the newest values. */
    refresh() {
        const rowHeight = this.#rowHeight;
        this.sizer.style.height = `${this.#keys.length * rowHeight}px`;
        const { first, end } = visibleRows({ count: this.#keys.length, rowHeight, scrollTop: this.scroll.scrollTop, height: this.scroll.clientHeight });
        const wanted = new Set(this.#keys.slice(first, end));
        for (const [key, row] of this.#rows) {
            if (wanted.has(key)) continue;
            this.#rows.delete(key);
            if (row.element.contains(document.activeElement)) this.scroll.focus({ preventScroll: true });
            row.element.remove();
            this.#spare.push(row);
        }
        let before = null;
        for (let index = end - 1; index >= first; index -= 1) {
            const key = this.#keys[index];
            const entry = fleet.entries.get(key);
            if (!entry) continue;
            let row = this.#rows.get(key);
            if (!row) {
                row = this.#spare.pop() ?? new DeviceRow();
                this.#rows.set(key, row);
                this.sizer.append(row.element);
            }
            row.place(index, rowHeight);
            row.update(key, entry, fleet.historyOf(key), fleet.historyVersion);
            row.element.tabIndex = index === this.#active ? 0 : -1;
            // The order of the document is the order on the screen, for screen readers.
            if (row.element.nextElementSibling !== before && !row.element.contains(document.activeElement)) this.sizer.insertBefore(row.element, before);
            before = row.element;
        }
        if (this.#active >= this.#keys.length) this.#active = Math.max(0, this.#keys.length - 1);
        this.#history.want(this.#keys.slice(first, end));
    }

    /** Moves the focus to the current row. */
    focus() {
        if (this.#keys.length) this.#focusRow(this.#active);
    }

    close() {
        this.observer.disconnect();
        this.stopTheme();
        this.#history.close();
    }

    #redraw() {
        for (const row of this.#rows.values()) row.redraw();
    }

    /** @param {number} index */
    #setActive(index) {
        if (index === this.#active) return;
        const previous = this.#rows.get(this.#keys[this.#active]);
        if (previous) previous.element.tabIndex = -1;
        this.#active = index;
        const next = this.#rows.get(this.#keys[index]);
        if (next) next.element.tabIndex = 0;
    }

    /** @param {number} index */
    #focusRow(index) {
        const rowHeight = this.#rowHeight;
        this.scroll.scrollTop = scrollToRow({ index, rowHeight, scrollTop: this.scroll.scrollTop, height: this.scroll.clientHeight });
        this.#setActive(index);
        this.refresh();
        this.#rows.get(this.#keys[index])?.element.focus({ preventScroll: true });
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        if (event.key === "Enter") {
            this.#open(this.#keys[this.#active]);
            return;
        }
        const page = Math.max(1, Math.floor(this.scroll.clientHeight / this.#rowHeight) - 1);
        const index = rowForKey(event.key, this.#active, this.#keys.length, page);
        if (index === null) return;
        event.preventDefault();
        this.#focusRow(index);
    }

    /** @param {MouseEvent} event */
    #click(event) {
        const target = /** @type {Element} */ (event.target);
        if (target.closest("a") || event.metaKey || event.ctrlKey) return;
        const row = /** @type {HTMLElement|null} */ (target.closest(".fleet-row"));
        if (row?.dataset.key) this.#open(row.dataset.key);
    }

    /** @param {string|undefined} key */
    #open(key) {
        if (!key) return;
        const [group, device] = key.split("/");
        location.hash = routeTo("device", group, device);
    }
}
