/** The choice of a time range by its start and end. */

import { h } from "../core/dom.js";
import { inputText, inputTime, zone } from "../pure/format.js";

/**
 * @param {import("../pure/view.js").TimeView} view the present range @param {(range: import("../pure/view.js").TimeView) => void} onchoose
 */
export function askRange(view, onchoose) {
    const field = (time) => h("input", { class: "field", type: "datetime-local", step: "1", required: true, value: inputText(time) });
    const from = field(view.from);
    const to = field(view.to);
    const problem = h("p", { class: "message", role: "alert", hidden: true, data: { kind: "bad" } }, "The end must be after the start.");
    const dialog = h("dialog", { "aria-labelledby": "range-title", onclose: () => dialog.remove() }, h("h2", { id: "range-title" }, "Time range"),
        h("form", { method: "dialog", onsubmit: (event) => {
            event.preventDefault();
            const range = { live: false, from: inputTime(from.value), to: inputTime(to.value) };
            problem.hidden = range.to > range.from;
            if (!problem.hidden) return;
            onchoose(range);
            dialog.close();
        } }, h("label", null, `Start (${zone(view.from)})`, from), h("label", null, `End (${zone(view.to)})`, to), problem,
            h("button", { class: "button primary", type: "submit" }, "Show"), h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel")));
    document.body.append(dialog);
    dialog.showModal();
}
