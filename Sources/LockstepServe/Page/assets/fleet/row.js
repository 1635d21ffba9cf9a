/** A row of the list of devices. */

import { h, icon, setText } from "../core/dom.js";
import { now } from "../core/clock.js";
import { routeTo } from "../core/router.js";
import { stateBadge } from "../core/states.js";
import { age, dateTime, percent, shortSampleRate, UNKNOWN, whole } from "../pure/format.js";
import { totalRate } from "../pure/selection.js";
import { Sparkline } from "../core/sparkline.js";

const SYMBOLS = { 0: "info", 1: "warning", 2: "alert" };

export class DeviceRow {
    #index = -1;
    #rowHeight = 0;
    #key = "";
    #problem = "";

    constructor() {
        this.link = h("a", { tabIndex: -1, draggable: false });
        this.group = h("span", { class: "group" });
        this.state = stateBadge();
        this.problem = h("span", { role: "gridcell", class: "cell cell-problem" });
        this.age = h("span", { role: "gridcell", class: "cell cell-age end num" });
        this.rate = h("span", { role: "gridcell", class: "cell cell-rate end num" });
        this.spark = new Sparkline();
        this.battery = batteryCell();
        this.missing = h("span", { role: "gridcell", class: "cell cell-missing end num" });
        this.element = h("div", { class: "fleet-row", role: "row", tabIndex: -1 },
            h("span", { role: "gridcell", class: "cell cell-name" }, this.link, this.group),
            h("span", { role: "gridcell", class: "cell cell-state" }, this.state.element),
            this.problem, this.age, this.rate,
            h("span", { role: "gridcell", class: "cell cell-spark" }, this.spark.canvas),
            this.battery.element, this.missing);
    }

    /** @param {number} index @param {number} rowHeight */
    place(index, rowHeight) {
        if (index === this.#index && rowHeight === this.#rowHeight) return;
        this.#index = index;
        this.#rowHeight = rowHeight;
        this.element.style.transform = `translateY(${index * rowHeight}px)`;
        this.element.setAttribute("aria-rowindex", String(index + 2));
    }

    /** @param {string} key @param {import("../pure/selection.js").Entry} entry @param {Float32Array} history @param {number} version of the history */
    update(key, { device, problems, severity }, history, version) {
        if (key !== this.#key) {
            this.#key = key;
            this.element.dataset.key = key;
            setText(this.link, device.device);
            this.link.href = routeTo("device", device.group, device.device);
            this.link.title = key;
            setText(this.group, device.group);
        }
        this.state.update(device.state);
        this.element.dataset.level = String(severity);
        this.element.toggleAttribute("data-dim", device.state === "terminated" || device.state === "background");
        this.#updateProblem(problems, device);
        const seconds = device.last_sample === null ? null : (now() - device.last_sample) / 1e6;
        setText(this.age, age(seconds));
        this.age.title = device.last_sample === null ? "No sample yet" : `Last sample: ${dateTime(device.last_sample)}`;
        const sum = totalRate(device);
        setText(this.rate, sum > 0 ? shortSampleRate(sum) : UNKNOWN);
        this.battery.update(device.battery);
        setText(this.missing, whole(device.missing));
        this.missing.toggleAttribute("data-bad", device.missing > 0);
        this.missing.title = device.on_its_way > 0 ? `${whole(device.on_its_way)} on the way` : "";
        this.spark.update(history, `${key} ${version}`);
    }

    redraw() {
        this.spark.redraw();
    }

    #updateProblem(problems, device) {
        const first = problems[0];
        const text = first ? first.text : device.state === "terminated" ? (device.reason === "source-failed" ? "Stopped: a source failed" : "Stopped cleanly") : device.state === "background" ? "Background rates" : device.state === "inactive" ? "Sensors pause" : "";
        const signature = `${first?.level}|${text}|${problems.length}`;
        if (signature === this.#problem) return;
        this.#problem = signature;
        this.problem.title = problems.map((problem) => problem.text).join("\n");
        if (!first) {
            this.problem.replaceChildren(text);
            return;
        }
        this.problem.replaceChildren(h("span", { class: "problem", data: { level: String(first.level) } }, icon(SYMBOLS[first.level]),
            h("span", { class: "problem-text" }, text), problems.length > 1 && h("span", { class: "more" }, `+${problems.length - 1}`)));
    }
}

function batteryCell() {
    const text = h("span");
    const fill = h("span", { class: "battery-fill" });
    fill.style.display = "block";
    const bolt = icon("bolt");
    const shape = h("span", { class: "battery-shell", "aria-hidden": "true" }, fill);
    const battery = h("span", { class: "battery" }, text, bolt, shape);
    const none = h("span", { class: "muted" }, UNKNOWN);
    const element = h("span", { role: "gridcell", class: "cell cell-battery end num" }, battery, none);
    return {
        element,
        update(value) {
            const isKnown = value !== null && value !== undefined && value.level !== null;
            battery.hidden = !isKnown;
            none.hidden = isKnown;
            if (!isKnown) return;
            setText(text, percent(value.level));
            fill.style.transform = `scaleX(${Math.max(0.06, Math.min(1, value.level))})`;
            bolt.style.display = value.charging ? "" : "none";
            battery.toggleAttribute("data-charging", value.charging === true);
            battery.toggleAttribute("data-low", value.level < 0.15 && !value.charging);
            battery.title = value.charging ? "Charging" : "Battery";
        },
    };
}
