/** The limits of a value axis: fixed, or those of the samples. */

import { formDialog } from "../core/dialog.js";
import { h } from "../core/dom.js";

/**
 * @param {{low: number, high: number}} shown @param {{low: number, high: number}|null} fixed
 * @param {(axis: {low: number, high: number}|null) => void} onchoose
 */
export function askAxis(shown, fixed, onchoose) {
    const field = (value) => h("input", { class: "field num", type: "number", step: "any", required: true, value: String(Number(value.toPrecision(6))) });
    const [low, high] = [field((fixed ?? shown).low), field((fixed ?? shown).high)];
    const free = h("button", { class: "button", type: "button", onclick: () => {
        onchoose(null);
        dialog.close();
    } }, "As the samples");
    const { dialog } = formDialog({ id: "axis-title", title: "Value axis", action: "Fix the axis", other: free, fields: [h("label", null, "Upper limit", high), h("label", null, "Lower limit", low)],
        async send() {
            const axis = { low: Number(low.value), high: Number(high.value) };
            if (!(axis.high > axis.low)) throw new Error("The upper limit must be above the lower one.");
            onchoose(axis);
        } });
}
