/** What takes the space of the store: each stream of each device, the largest first. It is counted when a person asks. */

import { request } from "../core/api.js";
import { card, h, setText } from "../core/dom.js";
import { routeTo } from "../core/router.js";
import { bytes, dateTime, whole } from "../pure/format.js";

/** Rows that are listed. */
const LISTED = 100;

export function sizesCard() {
    const button = h("button", { class: "button", type: "button", onclick: () => count() }, "Count");
    const { element, body, note } = card({ title: "Space by device", id: "sizes", className: "card-sizes", tools: button });
    const hint = h("p", { class: "muted", role: "status" }, "Counting reads all samples: about a second for ten millions.");
    body.append(hint);

    async function count() {
        button.disabled = true;
        setText(hint, "Counting");
        try {
            const { sizes } = await request("/sizes");
            const all = sizes.reduce((sum, size) => sum + size.bytes, 0);
            setText(note, `${bytes(all)} of samples`);
            setText(hint, sizes.length > LISTED ? `The largest ${LISTED} of ${whole(sizes.length)}` : "");
            const rows = sizes.slice(0, LISTED).map(({ device, stream, samples, oldest, bytes: size }) => h("tr", null,
                h("th", { scope: "row" }, h("a", { href: routeTo("device", ...device.split("/")) }, device)), h("td", null, stream), h("td", { class: "num" }, bytes(size)),
                h("td", { class: "num" }, `${Math.round((size / Math.max(1, all)) * 100)} %`), h("td", { class: "num" }, whole(samples)), h("td", { class: "num" }, dateTime(oldest))));
            body.replaceChildren(hint, h("div", { class: "table-wrap", tabIndex: 0, role: "region", "aria-label": "Sizes" }, h("table", { class: "table" },
                h("thead", null, h("tr", null, ...["Device", "Stream", "Size", "Share", "Samples", "Oldest sample"].map((text) => h("th", { scope: "col" }, text)))), h("tbody", null, ...rows))));
        } catch (error) {
            setText(hint, error.message);
        }
        button.disabled = false;
    }

    return element;
}
