/** What rules have notified: the newest first, with what nobody has acknowledged yet. */

import { emptyState, h, icon, segmented, setText } from "../core/dom.js";
import { ruleEvents } from "../core/events-store.js";
import { oncePerFrame } from "../core/frames.js";
import { notifications } from "../core/notifications.js";
import { parts } from "../core/parts.js";
import { store, stored } from "../core/settings.js";
import { counted } from "../pure/format.js";
import { keyOf, newestFirst, unacknowledged } from "../pure/events.js";
import { eventRow } from "./row.js";

/** @param {HTMLElement} main */
export function show(main) {
    let filter = stored("events.filter", "all");
    // The server keeps this number of events in memory; the store may have more.
    const kept = 1000;
    let hasOlder = true;
    /** @type {Map<string, {event: any, element: HTMLElement}>} */
    let rows = new Map();

    const count = h("span", { class: "muted" });
    const choice = segmented({ label: "Events", value: filter, options: [{ value: "all", text: "All" }, { value: "open", text: "Not acknowledged" }], onchange(value) {
        filter = value;
        store("events.filter", value);
        draw();
    } });
    const bell = notifyButton();
    const list = h("ul", { class: "events", "aria-label": "Events, newest first" });
    const older = h("button", { class: "button", type: "button", onclick: loadOlder }, "Show older events");
    const body = h("div", { class: "events-body" });
    main.append(h("div", { class: "view" }, h("div", { class: "view-head" }, h("h1", null, "Events"), count, h("span", { class: "spacer" }), choice.element, bell.element), body));

    function draw() {
        if (!ruleEvents.hasLoaded) {
            body.replaceChildren(h("div", { class: "skeleton events-skeleton", role: "status", "aria-label": "Loading" }));
            return;
        }
        const all = [...ruleEvents.events.values()];
        const open = unacknowledged(all);
        setText(count, all.length ? `${counted(open.length, "event")} not acknowledged` : "");
        const shown = newestFirst(filter === "open" ? open : all);
        if (!shown.length) {
            body.replaceChildren(all.length ? allDone() : nothing());
            rows = new Map();
            return;
        }
        const next = new Map();
        for (const event of shown) {
            const key = keyOf(event);
            const known = rows.get(key);
            next.set(key, known?.event === event ? known : { event, element: eventRow(event) });
        }
        const focused = focusedKey();
        rows = next;
        update(list, [...next.values()].map(({ element }) => element));
        older.hidden = !hasOlder || all.length < kept || parts.value.store !== "ok";
        if (list.parentElement !== body) body.replaceChildren(list, h("p", { class: "events-older" }, older));
        // The button of an acknowledged event is gone: the next one gets the focus.
        if (focused !== null && !body.contains(document.activeElement)) focusAfter(focused);
    }

    /** The position of the row with the focus, or null. */
    function focusedKey() {
        const at = [...list.children].findIndex((row) => row.contains(document.activeElement));
        return at < 0 ? null : at;
    }

    /** @param {number} at */
    function focusAfter(at) {
        const buttons = [...list.children].map((row) => row.querySelector("button"));
        const target = buttons.slice(at).find(Boolean) ?? buttons.findLast(Boolean);
        (target ?? choice.element.querySelector("[aria-checked=true]"))?.focus({ preventScroll: true });
    }

    async function loadOlder() {
        older.disabled = true;
        try {
            hasOlder = await ruleEvents.loadOlder();
            setText(older, "Show older events");
        } catch (error) {
            setText(older, `Show older events (${error.message})`);
        } finally {
            older.disabled = false;
            draw();
        }
    }

    // Many events may arrive together, for example after an outage.
    let isDrawing = true;
    const drawSoon = oncePerFrame(() => {
        if (isDrawing) draw();
    });

    draw();
    ruleEvents.addEventListener("change", drawSoon);
    parts.addEventListener("change", drawSoon);
    return { title: "Events", leave() {
        isDrawing = false;
        ruleEvents.removeEventListener("change", drawSoon);
        parts.removeEventListener("change", drawSoon);
        bell.close();
    } };
}

/** Changes the children of a list, and leaves those in place that stay. @param {HTMLElement} list @param {HTMLElement[]} wanted */
function update(list, wanted) {
    const kept = new Set(wanted);
    for (const child of [...list.children]) if (!kept.has(/** @type {HTMLElement} */ (child))) child.remove();
    wanted.forEach((element, index) => {
        if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
    });
}

function notifyButton() {
    const button = h("button", { class: "button", type: "button", onclick: () => notifications.set(!notifications.isOn) });
    function draw() {
        const isOn = notifications.isOn;
        button.setAttribute("aria-pressed", String(isOn));
        button.disabled = !notifications.isSupported || notifications.isBlocked;
        button.title = !notifications.isSupported ? "Browsers show notifications only of pages with HTTPS or of this machine"
            : notifications.isBlocked ? "This browser does not allow notifications of this page: change that in its settings"
                : "Shows new events as notifications while a tab with this page is open";
        button.replaceChildren(icon(isOn ? "bell" : "bell-off"), "Notifications");
    }
    draw();
    notifications.addEventListener("change", draw);
    return { element: button, close: () => notifications.removeEventListener("change", draw) };
}

function nothing() {
    return emptyState({ symbol: "bell", title: "No events", text: "A collector with rules reports here when a limit is passed, a device leaves a place, or falls silent. Start it with --rules FILE; docs/rules.md has the rules." });
}

function allDone() {
    return emptyState({ symbol: "check", title: "Everything is acknowledged", text: "New events appear here." });
}
