/** The choice of a time range by its start and end. */

import { formDialog } from "../core/dialog.js";
import { h } from "../core/dom.js";
import { inputText, inputTime, zone } from "../pure/format.js";

/**
 * @param {import("../pure/view.js").TimeView} view the present range @param {(range: import("../pure/view.js").TimeView) => void} onchoose
 */
export function askRange(view, onchoose) {
    const field = (time) => h("input", { class: "field", type: "datetime-local", step: "1", required: true, value: inputText(time) });
    const from = field(view.from);
    const to = field(view.to);
    formDialog({ id: "range-title", title: "Time range", action: "Show", fields: [h("label", null, `Start (${zone(view.from)})`, from), h("label", null, `End (${zone(view.to)})`, to)],
        async send() {
            const range = { live: false, from: inputTime(from.value), to: inputTime(to.value) };
            if (!(range.to > range.from)) throw new Error("The end must be after the start.");
            onchoose(range);
        } });
}
