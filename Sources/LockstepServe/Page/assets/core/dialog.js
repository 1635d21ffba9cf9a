/** Forms in dialogs. */

import { h } from "./dom.js";

/**
 * A form in a dialog, which is closed when what it sends was accepted.
 * @param {{id: string, title: string, text?: string, facts?: HTMLElement, fields?: any[], action: string, waiting?: string, other?: HTMLButtonElement, send: () => Promise<void>}} options
 *     `facts` is shown above the form, `waiting` while it sends, and `other` is a second way out; `send` throws what is shown as the problem
 */
export function formDialog({ id, title, text, facts, fields = [], action, waiting = "", other, send }) {
    const message = h("p", { class: "message", role: waiting ? "status" : "alert", hidden: true });
    const button = h("button", { class: "button primary", type: "submit" }, action);
    const say = (kind, words) => {
        message.dataset.kind = kind;
        message.textContent = words;
        message.hidden = !words;
    };
    const dialog = h("dialog", { "aria-labelledby": id, onclose: () => dialog.remove() }, h("h2", { id }, title), text && h("p", { class: "muted" }, text), facts,
        h("form", { method: "dialog", onsubmit: async (event) => {
            event.preventDefault();
            button.disabled = true;
            say("info", waiting);
            try {
                await send();
                dialog.close();
            } catch (error) {
                say("bad", error.message);
            }
            button.disabled = false;
        } }, ...fields, message, button, other, h("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Cancel")));
    document.body.append(dialog);
    dialog.showModal();
    return { dialog, button };
}
