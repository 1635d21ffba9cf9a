/** Who is reading: rights, the version of the server, and the dialog that asks for a token. */

import { ApiError, request } from "./api.js";
import { h } from "./dom.js";

class Session extends EventTarget {
    /** @type {{token_required: boolean, authenticated: boolean, rights: string[], version: string}} */
    state = { token_required: false, authenticated: true, rights: ["read"], version: "" };
    /** @type {HTMLDialogElement|null} */
    #dialog = null;

    get canOperate() {
        return this.state.rights.includes("operate");
    }

    /** Whether the page may read, as far as it knows. */
    get isOpen() {
        return !this.#dialog?.open && this.#isAccepted;
    }

    get #isAccepted() {
        return !this.state.token_required || this.state.authenticated;
    }

    /** Asks the server; without an answer the page starts and reports the lost connection. @param {string} [text] its answer, if the page has it already */
    async load(text = "") {
        try {
            const written = text ? JSON.parse(text) : null;
            // A link from another site opens the page without the cookie.
            const isKnown = written && (written.authenticated || !written.token_required);
            this.state = isKnown ? written : await request("/session");
        } catch {
            // The connection state in the header reports it.
        }
        this.dispatchEvent(new Event("change"));
    }

    /** Waits until the page may read. */
    async ready() {
        if (this.#isAccepted) return;
        this.ask();
        await new Promise((resolve) => this.addEventListener("opened", resolve, { once: true }));
    }

    /** Shows the dialog, unless it is shown. */
    ask() {
        if (this.#dialog?.open) return;
        const field = h("input", { class: "field", type: "password", name: "token", required: true, autocomplete: "current-password", spellcheck: false });
        const problem = h("p", { class: "message", role: "alert", hidden: true, data: { kind: "bad" } });
        const button = h("button", { class: "button primary", type: "submit" }, "Continue");
        const form = h("form", { method: "dialog", onsubmit: (event) => {
            event.preventDefault();
            this.#open(field, problem, button);
        } }, h("label", null, "Token", field), problem, button);
        const dialog = h("dialog", { "aria-labelledby": "token-title", oncancel: (event) => event.preventDefault() },
            h("h2", { id: "token-title" }, "Token required"),
            h("p", { class: "muted" }, "This server requires a token. Ask its operator for one."),
            form);
        this.#dialog = dialog;
        document.body.append(dialog);
        dialog.showModal();
    }

    /** Closes the dialog if another window has opened a session. */
    async resume() {
        if (!this.#dialog?.open) return;
        await this.load();
        if (this.#isAccepted) this.#finish({ isNew: false });
    }

    /** @param {{isNew: boolean}} session whether this window has opened it */
    #finish({ isNew }) {
        if (!this.#dialog?.open) return;
        this.#dialog.close();
        this.#dialog.remove();
        this.dispatchEvent(new CustomEvent("opened", { detail: { isNew } }));
    }

    async #open(field, problem, button) {
        button.disabled = true;
        problem.hidden = true;
        try {
            await request("/session", { method: "POST", body: { token: field.value.trim() } });
            await this.load();
            this.#finish({ isNew: true });
        } catch (error) {
            problem.textContent = error instanceof ApiError && error.status === 401 ? "The token is not valid. Check it for missing characters." : error.message;
            problem.hidden = false;
            field.select();
        } finally {
            button.disabled = false;
        }
    }

    /** Ends the session on the server, and what other windows receive with it. */
    async close() {
        await request("/session", { method: "DELETE" }).catch(() => {});
        this.state = { ...this.state, authenticated: false };
        this.dispatchEvent(new Event("closed"));
        location.reload();
    }
}

export const session = new Session();
