/** The dialog with the QR code and the address of the gateway's page, with which a phone joins. */

import { h, icon, setText } from "../core/dom.js";
import { parts } from "../core/parts.js";

/** Returns the button of the header. It is hidden unless the server names the address of a gateway. */
export function joinButton() {
    const button = h("button", { class: "button quiet icon-only", type: "button", title: "Join with a phone", "aria-label": "Join with a phone", "aria-haspopup": "dialog", hidden: true, onclick: open }, icon("phone"));
    parts.addEventListener("change", () => { button.hidden = !parts.system?.join_url; });
    return button;
}

/** Escape closes it, and the browser returns the focus to the button. */
async function open() {
    if (document.querySelector("dialog.join")) return;
    const address = parts.system.join_url;
    const text = h("p", { id: "join-text", class: "muted" }, "Open the address on the phone. No app is needed.");
    const dialog = h("dialog", { class: "join", "aria-labelledby": "join-title", "aria-describedby": "join-text", onclose: () => dialog.remove() },
        h("h2", { id: "join-title" }, "Join with a phone"),
        text,
        h("p", null, h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, address)),
        h("button", { class: "button primary", type: "button", onclick: () => dialog.close() }, "Close"));
    document.body.append(dialog);
    dialog.showModal();
    // Not among what each visit loads. While the server is away, there is the address alone.
    const qr = await import("/assets/pure/qr.js").catch(() => null);
    const rows = qr?.qrCode(address);
    if (!rows) return;
    setText(text, "Point the camera of the phone at the code, or open the address on it. No app is needed.");
    text.after(code(rows.length, qr.qrPath(rows)));
}

/** @param {number} width of a QR code in its squares @param {string} path of the dark ones */
function code(width, path) {
    const size = width + 8;
    const svg = (name, attributes) => {
        const result = document.createElementNS("http://www.w3.org/2000/svg", name);
        for (const [key, value] of Object.entries(attributes)) result.setAttribute(key, value);
        return result;
    };
    const image = svg("svg", { class: "join-code", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": "QR code of the address", "shape-rendering": "crispEdges" });
    image.append(svg("rect", { width: String(size), height: String(size), fill: "#fff" }), svg("path", { d: path, fill: "#000" }));
    return image;
}
