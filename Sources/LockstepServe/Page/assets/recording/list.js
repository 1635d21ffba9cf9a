/** All sessions: search by name and label, their states, and the start of a new one. */

import { request } from "../core/api.js";
import { now } from "../core/clock.js";
import { emptyState, h, icon, setText } from "../core/dom.js";
import { showInAddress } from "../core/router.js";
import { session as login } from "../core/session.js";
import { counted, dateTime, isoTime, nearTime } from "../pure/format.js";
import { isRunning, progressText } from "../pure/recording.js";
import { askStart } from "./start-dialog.js";
import { stateBadge } from "./state-badge.js";
import { repeat, sessionAddress } from "./requests.js";

/** @param {HTMLElement} main @param {{query: URLSearchParams}} route */
export function showList(main, { query }) {
    const search = h("input", { class: "field", type: "search", data: { search: "" }, "aria-label": "Search sessions by name or label", placeholder: "Name or label, such as subject=7", value: query.get("search") ?? "", oninput: () => {
        showInAddress([["search", search.value]]);
        loading.now();
    } });
    const start = login.canOperate && h("button", { class: "button primary", type: "button", onclick: () => askStart() }, icon("plus"), "Start session");
    const count = h("span", { class: "muted num", role: "status" });
    const list = h("ul", { class: "events sessions", "aria-label": "Sessions, newest first" });
    const body = h("div", { class: "events-body" }, h("div", { class: "skeleton events-skeleton", role: "status", "aria-label": "Loading" }));
    main.append(h("div", { class: "view" }, h("div", { class: "view-head" }, h("h1", null, "Sessions"), count, h("span", { class: "spacer" }), start),
        h("div", { class: "events-tools" }, h("label", { class: "search" }, icon("search"), search, h("kbd", { "aria-hidden": "true" }, "/"))), body));
    /** @type {Map<string, {text: string, element: HTMLElement}>} */
    let rows = new Map();

    const loading = repeat(async (signal) => {
        const asked = search.value;
        try {
            const { sessions, is_cut: isCut } = await request("/sessions", { query: { search: asked }, signal });
            if (asked === search.value) draw(sessions, isCut);
        } catch (error) {
            if (!signal.aborted) body.replaceChildren(emptyState({ symbol: "warning", title: "The sessions could not be loaded", text: error.message }));
        }
    }, 2000);

    /** @param {import("../pure/recording.js").Recording[]} sessions @param {boolean} isCut */
    function draw(sessions, isCut) {
        setText(count, sessions.length ? `${counted(sessions.length, "session")}${isCut ? ", the newest" : ""}` : "");
        if (!sessions.length) {
            rows = new Map();
            body.replaceChildren(search.value ? emptyState({ symbol: "search", title: "No session matches", text: "A word is found in names, ids and labels." })
                : emptyState({ symbol: "record", title: "No sessions", text: "A session records several devices together, with markers, and tells when everything is stored." }));
            return;
        }
        const next = new Map(sessions.map((session) => {
            const key = `${session.group}/${session.id}`;
            const text = `${session.name} ${session.state} ${session.start} ${session.marker_count} ${JSON.stringify(session.labels)} ${isRunning(session) ? now() : ""}`;
            const before = rows.get(key);
            return [key, before?.text === text ? before : { text, element: row(session) }];
        }));
        // A row that is drawn again keeps the focus.
        const focused = [...rows].find(([, { element }]) => element.contains(document.activeElement))?.[0];
        rows = next;
        list.replaceChildren(...[...next.values()].map(({ element }) => element));
        if (list.parentElement !== body) body.replaceChildren(list);
        if (focused !== undefined) next.get(focused)?.element.querySelector("a")?.focus({ preventScroll: true });
    }

    return { title: "Sessions", leave: loading.stop };
}

/** @param {import("../pure/recording.js").Recording} session */
function row(session) {
    const time = session.start ?? session.created;
    return h("li", { class: "event session" },
        h("div", { class: "event-main" }, h("p", { class: "event-text" }, h("a", { href: sessionAddress(session) }, session.name)),
            h("p", { class: "event-facts" }, h("span", null, session.group), h("span", null, counted(session.devices.length, "device")), h("span", null, counted(session.marker_count, "marker")),
                ...Object.entries(session.labels).map(([key, value]) => h("span", { class: "label" }, `${key}=${value}`)))),
        h("time", { class: "event-time num", dateTime: isoTime(time), title: dateTime(time) }, nearTime(time, now())),
        h("div", { class: "event-act" }, h("span", { class: "session-state" }, stateBadge(session.state), h("span", { class: "muted num" }, progressText(session, now())))));
}
