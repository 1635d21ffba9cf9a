/** A bar of coloured spans over time, with a text for each and a cursor. Arrow keys lead from one span to the next. */

import { now } from "../core/clock.js";
import { h, setText } from "../core/dom.js";

/**
 * @param {{label: string, empty: string, describe: (part: import("../pure/timeline.js").Interval, time: number) => string}} options
 *   `empty` is shown where nothing is known
 */
export function spanBar({ label, empty, describe }) {
    const bar = h("div", { class: "bar", role: "list", "aria-label": label });
    const cursor = h("div", { class: "bar-cursor", hidden: true });
    const tip = h("div", { class: "tip", role: "tooltip", hidden: true });
    let signature = "";

    function segment(part) {
        const child = h("div", { class: "segment", role: "listitem", tabIndex: -1, data: { state: part.state ?? "none" } });
        const show = () => {
            setText(tip, child.getAttribute("aria-label") ?? "");
            tip.hidden = false;
            const left = child.offsetLeft + child.offsetWidth / 2;
            tip.style.left = `${Math.min(bar.offsetWidth - tip.offsetWidth / 2, Math.max(tip.offsetWidth / 2, left))}px`;
        };
        child.addEventListener("pointerenter", show);
        child.addEventListener("focus", () => {
            reach(child);
            show();
        });
        child.addEventListener("pointerleave", () => { tip.hidden = true; });
        child.addEventListener("blur", () => { tip.hidden = true; });
        child.addEventListener("keydown", (event) => {
            const sibling = event.key === "ArrowRight" ? child.nextElementSibling : event.key === "ArrowLeft" ? child.previousElementSibling : null;
            if (sibling) { event.preventDefault(); sibling.focus(); }
        });
        return child;
    }

    /** Tab leads to one span only: there may be hundreds. @param {Element|undefined} child */
    function reach(child) {
        for (const other of bar.querySelectorAll("[tabindex='0']")) other.setAttribute("tabindex", "-1");
        child?.setAttribute("tabindex", "0");
    }

    /** Shows that nothing is loaded. */
    function clear() {
        signature = "";
        tip.hidden = true;
        bar.replaceChildren(h("div", { class: "skeleton bar-skeleton" }));
    }

    clear();
    return {
        element: h("div", { class: "bar-wrap" }, bar, cursor, tip),
        clear,
        get width() {
            return bar.offsetWidth || 800;
        },
        /** Draws what is known between two times. Returns whether there are other spans. @param {import("../pure/timeline.js").Interval[]} list @param {number} from @param {number} to */
        draw(list, from, to) {
            // The first span moves with the range, and what is not known yet begins later each time.
            const moves = (part) => part.from === from || (part.open && part.state === null);
            const next = list.map((part) => `${part.state}${moves(part) ? "" : part.from}`).join() + (to - from);
            const isOther = next !== signature;
            const focused = isOther ? [...bar.children].findIndex((child) => child === document.activeElement) : -1;
            if (isOther) {
                signature = next;
                tip.hidden = true;
                if (list.some(({ state }) => state)) bar.replaceChildren(...list.map((part) => segment(part)));
                else bar.replaceChildren(h("div", { class: "bar-empty" }, empty));
            }
            list.forEach((part, i) => {
                const child = /** @type {HTMLElement} */ (bar.children[i]);
                if (!child?.dataset.state) return;
                child.style.left = `${((part.from - from) / (to - from)) * 100}%`;
                child.style.width = `${((part.to - part.from) / (to - from)) * 100}%`;
                child.setAttribute("aria-label", describe(part, now()));
            });
            if (isOther) {
                const child = /** @type {HTMLElement|undefined} */ (bar.children[Math.min(Math.max(focused, 0), bar.children.length - 1)]);
                if (child?.dataset.state) reach(child);
                if (focused >= 0) child?.focus({ preventScroll: true });
            }
            return isOther;
        },
        /** Marks a time; null for none. @param {number|null} time @param {number} from @param {number} to */
        mark(time, from, to) {
            cursor.hidden = time === null || time < from || time > to;
            if (!cursor.hidden) cursor.style.left = `${((/** @type {number} */ (time) - from) / (to - from)) * 100}%`;
        },
    };
}
