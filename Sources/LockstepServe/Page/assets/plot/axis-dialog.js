/** The limits of a value axis: fixed, or those of the samples. */

import { h } from "../core/dom.js";

/**
 * @param {{low: number, high: number}} shown @param {{low: number, high: number}|null} fixed
 * @param {(axis: {low: number, high: number}|null) => void} onchoose
 */
export function askAxis(shown, fixed, onchoose) {
    const field = (value) => h("input", { class: "field num", type: "number", step: "any", required: true, value: String(Number(value.toPrecision(6))) });
    const [low, high] = [field((fixed ?? shown).low), field((fixed ?? shown).high)];
    const problem = h("p", { class: "message", role: "alert", hidden: true, data: { kind: "bad" } }, "The upper limit must be above the lower one.");
    const choose = (axis) => {
        onchoose(axis);
        dialog.close();
    };
    const dialog = h("dialog", { "aria-labelledby": "axis-title", onclose: () => dialog.remove() }, h("h2", { id: "axis-title" }, "Value axis"),
        h("form", { method: "dialog", onsubmit: (event) => {
            event.preventDefault();
            const axis = { low: Number(low.value), high: Number(high.value) };
            problem.hidden = axis.high > axis.low;
            if (problem.hidden) choose(axis);
        } }, h("label", null, "Upper limit", high), h("label", null, "Lower limit", low), problem, h("button", { class: "button primary", type: "submit" }, "Fix the axis"),
            h("button", { class: "button", type: "button", onclick: () => choose(null) }, "As the samples"), h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel")));
    document.body.append(dialog);
    dialog.showModal();
}
