/** An address that no view has. */

import { emptyState, h } from "../core/dom.js";

/** @param {HTMLElement} main */
export function show(main) {
    main.append(h("div", { class: "view" }, h("h1", { class: "visually-hidden" }, "Not found"),
        emptyState({ symbol: "search", title: "There is no view at this address", text: "The link may be from another version of this page.", action: h("a", { class: "button", href: "#/" }, "Show the fleet") })));
    return { title: "Not found" };
}
