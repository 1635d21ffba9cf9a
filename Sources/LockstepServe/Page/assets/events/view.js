/** What rules have notified: the newest first, with what nobody has acknowledged yet. */

import { arrange, emptyState, h, icon, segmented, select, setText } from "../core/dom.js";
import { now } from "../core/clock.js";
import { ruleEvents, SENT } from "../core/events-store.js";
import { oncePerFrame } from "../core/frames.js";
import { notifications } from "../core/notifications.js";
import { parts } from "../core/parts.js";
import { showInAddress } from "../core/router.js";
import { session } from "../core/session.js";
import { store, stored } from "../core/settings.js";
import { announce } from "../core/shell.js";
import { counted } from "../pure/format.js";
import { devicesOf, filtered, grouped, keyOf, newestFirst, rulesOf, streamOf, unacknowledged } from "../pure/events.js";
import { eventRow } from "./row.js";

/** Rows that are drawn at once: more are drawn on demand. */
const PORTION = 200;
/** Acknowledgements that are sent at the same time: each waits for its collector. */
const AT_ONCE = 4;
const SPANS = [{ value: "", text: "Any time" }, { value: "3600", text: "Last hour" }, { value: "86400", text: "Last 24 h" }, { value: "604800", text: "Last 7 d" }];

const SEVERITIES = [{ value: "", text: "Any severity" }, { value: "critical", text: "Critical" }, { value: "warning", text: "Warning" }, { value: "info", text: "Info" }];

/** @param {HTMLElement} main @param {{query: URLSearchParams}} route */
export function show(main, { query }) {
    const filter = { show: query.get("show") ?? stored("events.filter", "all"), rule: query.get("rule") ?? "", device: query.get("device") ?? "", severity: query.get("severity") ?? "", span: query.get("span") ?? "" };
    let isGrouped = stored("events.grouped", false) === true;
    let portions = 1;
    let hasOlder = true;
    /** @type {Map<string, {signature: string, element: HTMLElement}>} */
    let rows = new Map();
    /** The events that the filters choose, newest first. @type {import("../pure/events.js").RuleEvent[]} */
    let shown = [];

    const count = h("span", { class: "muted" });
    const choice = segmented({ label: "Events", value: filter.show, options: [{ value: "all", text: "All" }, { value: "open", text: "Not acknowledged" }], onchange: (value) => changed({ show: value }) });
    const rule = chooser("Rule", (value) => changed({ rule: value }));
    const device = chooser("Device", (value) => changed({ device: value }));
    const severity = select({ label: "Severity", value: filter.severity, options: SEVERITIES, onchange: (value) => changed({ severity: value }) });
    const span = select({ label: "Time", value: filter.span, options: SPANS, onchange: (value) => changed({ span: value }) });
    const grouping = h("button", { class: "button", type: "button", "aria-pressed": String(isGrouped), title: "One row for all events of a rule and a device", onclick: () => {
        isGrouped = !isGrouped;
        grouping.setAttribute("aria-pressed", String(isGrouped));
        store("events.grouped", isGrouped);
        draw();
    } }, "Group");
    const all = h("button", { class: "button", type: "button", hidden: true, onclick: () => acknowledge(unacknowledged(shown)).catch(() => {}) });
    const bell = notifyButton();
    const list = h("ul", { class: "events", "aria-label": "Events, newest first" });
    const older = h("button", { class: "button", type: "button", onclick: loadOlder }, "Show older events");
    const more = h("button", { class: "button", type: "button", onclick: () => { portions += 1; draw(); } });
    const foot = h("p", { class: "events-older" }, more, older);
    const body = h("div", { class: "events-body" });
    main.append(h("div", { class: "view" }, h("div", { class: "view-head" }, h("h1", null, "Events"), count, h("span", { class: "spacer" }), choice.element, bell.element),
        h("div", { class: "events-tools" }, rule.element, device.element, severity, span, grouping, h("span", { class: "spacer" }), all), body));

    function changed(part) {
        Object.assign(filter, part);
        portions = 1;
        hasOlder = true;
        showInAddress([["show", filter.show === "all" ? "" : filter.show], ["rule", filter.rule], ["device", filter.device], ["severity", filter.severity], ["span", filter.span]]);
        store("events.filter", filter.show);
        draw();
    }

    function draw() {
        if (!ruleEvents.hasLoaded) {
            body.replaceChildren(h("div", { class: "skeleton events-skeleton", role: "status", "aria-label": "Loading" }));
            return;
        }
        const known = [...ruleEvents.events.values()];
        const open = unacknowledged(known);
        setText(count, known.length ? `${counted(ruleEvents.openCount, "event")} not acknowledged` : "");
        rule.update(rulesOf(known), filter.rule);
        device.update(devicesOf(known), filter.device);
        shown = newestFirst(filtered(filter.show === "open" ? open : known, filter, now()));
        updateAll();
        const canLoad = hasOlder && known.length >= SENT && parts.value.store === "ok";
        if (!shown.length) {
            const isFiltered = filter.rule || filter.device || filter.severity || filter.span;
            body.replaceChildren(!known.length ? nothing() : isFiltered ? unmatched(canLoad) : ruleEvents.openBeyond ? openBefore(ruleEvents.openBeyond, canLoad) : allDone(), foot);
            [more.hidden, older.hidden] = [true, !canLoad];
            rows = new Map();
            return;
        }
        const groups = isGrouped ? grouped(shown) : shown.map((event) => [event]);
        const next = new Map();
        for (const group of groups.slice(0, portions * PORTION)) {
            const key = keyOf(group[0]);
            const signature = `${group.length} ${unacknowledged(group).length} ${streamOf(group[0], parts.system)}`;
            const before = rows.get(key);
            next.set(key, before?.signature === signature ? before : { signature, element: eventRow(group, acknowledge) });
        }
        const focused = focusedKey();
        rows = next;
        arrange(list, [...next.values()].map(({ element }) => element));
        more.hidden = groups.length <= portions * PORTION;
        if (!more.hidden) setText(more, `Show ${Math.min(PORTION, groups.length - portions * PORTION)} more of ${counted(groups.length, "row")}`);
        older.hidden = !more.hidden || !canLoad;
        if (list.parentElement !== body) body.replaceChildren(list, foot);
        // The button of an acknowledged event is gone: the next one gets the focus.
        if (focused !== null && !body.contains(document.activeElement)) focusAfter(focused);
    }

    function updateAll() {
        const open = unacknowledged(shown).length;
        all.hidden = open < 2 || !session.canOperate;
        if (all.hidden || all.disabled) return;
        const rest = ruleEvents.openBeyond;
        setText(all, rest ? `Acknowledge ${counted(open, "loaded event")}` : `Acknowledge ${counted(open, "event")}`);
        all.title = rest ? `${counted(rest, "older event")} that nobody has acknowledged ${rest === 1 ? "is" : "are"} not loaded, and not acknowledged with these: show older events first` : "";
    }

    /** @param {import("../pure/events.js").RuleEvent[]} events */
    async function acknowledge(events) {
        const waiting = [...events];
        let problem = "";
        all.disabled = true;
        const work = async () => {
            for (let event = waiting.pop(); event && !problem; event = waiting.pop()) {
                setText(all, `Acknowledging, ${waiting.length + 1} left`);
                await ruleEvents.acknowledge(event).catch((error) => { problem = error.message; });
            }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, work));
        all.disabled = false;
        announce(problem || "Acknowledged");
        draw();
        if (problem) setText(all, `${all.textContent} (${problem})`);
        if (problem) throw new Error(problem);
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
            hasOlder = await ruleEvents.loadOlder(filter);
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

/** A choice of one of the values that occur. @param {string} label @param {(value: string) => void} onchange */
function chooser(label, onchange) {
    const element = h("span");
    let known = "";
    return {
        element,
        /** @param {string[]} values @param {string} value */
        update(values, value) {
            // A link may name one that has no event at present.
            const all = value && !values.includes(value) ? [...values, value] : values;
            const next = `${all.join("\n")}|${value}`;
            if (next === known) return;
            known = next;
            element.replaceChildren(select({ label, value, options: [{ value: "", text: `Any ${label.toLowerCase()}` }, ...all.map((name) => ({ value: name, text: name }))], onchange }));
        },
    };
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

/** @param {number} count @param {boolean} canLoad whether the button for older events is shown */
function openBefore(count, canLoad) {
    return emptyState({ symbol: "bell", title: "Older events are not acknowledged", text: `${counted(count, "event")} of the store ${count === 1 ? "is" : "are"} not loaded${canLoad ? ": show older events" : ""}.` });
}

/** @param {boolean} hasOlder whether the store may have others */
function unmatched(hasOlder) {
    return emptyState({ symbol: "search", title: hasOlder ? "No event that is loaded matches" : "No event matches", text: `Change the rule, the device, the severity or the time${hasOlder ? ", or show older events" : ""}.` });
}
