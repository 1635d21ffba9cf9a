/** The frame of the page: navigation, state of the connection, theme, session. */

import { badge } from "../pure/events.js";
import { counted } from "../pure/format.js";
import { joinButton } from "../join/dialog.js";
import { h, icon, setText } from "./dom.js";
import { ruleEvents } from "./events-store.js";
import { fleet } from "./fleet-store.js";
import { oncePerFrame } from "./frames.js";
import { parts } from "./parts.js";
import { routeTo } from "./router.js";
import { session } from "./session.js";
import { setTheme, theme } from "./theme.js";

const banner = () => /** @type {HTMLElement} */ (document.getElementById("banner"));

export function setUpShell() {
    const link = h("span", { class: "link-state", data: { status: "connecting" } }, "Connecting");
    const leave = h("button", { class: "button quiet icon-only", type: "button", title: "End session", "aria-label": "End session", hidden: true, onclick: () => session.close() }, icon("logout"));
    const promise = h("span", { class: "promise num" }, h("span", { class: "promise-long" }), h("span", { class: "promise-short" }));
    const tie = h("a", { class: "link", href: "#/system", title: "The state of all parts" }, link, promise);
    document.getElementById("tools")?.append(tie, joinButton(), themeButton(), leave);
    const update = () => {
        const groups = fleet.groups();
        updateLink(link, promise, groups);
        updateBanner(groups);
    };
    fleet.addEventListener("tick", update);
    parts.addEventListener("change", update);
    // Many events may arrive together.
    ruleEvents.addEventListener("change", oncePerFrame(updateBadge));
    ruleEvents.addEventListener("news", (event) => announce(`New event: ${/** @type {CustomEvent} */ (event).detail.text}`));
    session.addEventListener("change", () => {
        leave.hidden = !(session.state.token_required && session.state.authenticated);
    });
    document.addEventListener("keydown", shortcuts);
    const more = /** @type {HTMLDetailsElement} */ (document.getElementById("more"));
    document.addEventListener("click", (event) => { if (!more.contains(/** @type {Node} */ (event.target))) more.open = false; });
    more.addEventListener("keydown", (event) => {
        if (event.key !== "Escape") return;
        more.open = false;
        more.querySelector("summary")?.focus();
    });
}

/** Marks the view in the navigation. @param {import("./router.js").Route} route @param {string} title */
export function showView({ view, group, device }, title) {
    const current = view === "device" ? "fleet" : view;
    for (const anchor of document.querySelectorAll(".nav a")) {
        if (/** @type {HTMLElement} */ (anchor).dataset.view === current) anchor.setAttribute("aria-current", "page");
        else anchor.removeAttribute("aria-current");
    }
    // The game is played with the device in view.
    /** @type {HTMLAnchorElement} */ (document.querySelector(".nav a[data-view=bouncer]")).href = routeTo("bouncer", group, device);
    document.title = title === "Fleet" ? "Lockstep" : `${title} · Lockstep`;
}

/** Closes the list "More" of the navigation. */
export function closeMore() {
    /** @type {HTMLDetailsElement} */ (document.getElementById("more")).open = false;
}

/** Has a screen reader read a text. @param {string} text */
export function announce(text) {
    const region = document.getElementById("announcer");
    if (region) setText(region, text);
}

function themeButton() {
    const looks = { system: ["auto", "as the system"], light: ["sun", "light"], dark: ["moon", "dark"] };
    const order = ["system", "light", "dark"];
    const button = h("button", { class: "button quiet icon-only", type: "button", onclick: () => {
        setTheme(order[(order.indexOf(theme()) + 1) % 3]);
        update();
        announce(button.getAttribute("aria-label") ?? "");
    } });
    function update() {
        const [symbol, text] = looks[theme()];
        button.replaceChildren(icon(symbol));
        button.setAttribute("aria-label", `Colours: ${text}`);
        button.title = `Colours: ${text}`;
    }
    update();
    return button;
}

/** @param {HTMLElement} link @param {HTMLElement} promise @param {string[]} groups */
function updateLink(link, promise, groups) {
    const { status, text } = parts.words(groups);
    link.dataset.status = status;
    setText(link, text);
    if (!fleet.hasLoaded) return;
    const promised = parts.promise([...fleet.entries.values()].map(({ device }) => device));
    promise.dataset.kind = promised.kind;
    setText(promise.children[0], promised.text);
    setText(promise.children[1], promised.short);
}

/** The number of events that nobody has acknowledged. */
function updateBadge() {
    const element = /** @type {HTMLElement} */ (document.getElementById("open-events"));
    const count = ruleEvents.openCount;
    element.hidden = count === 0;
    const text = badge(count);
    if (element.dataset.count === String(count)) return;
    element.dataset.count = String(count);
    element.replaceChildren(h("span", { "aria-hidden": "true" }, text), h("span", { class: "visually-hidden" }, `, ${counted(count, "event")} not acknowledged`));
}

/** @param {string[]} groups */
function updateBanner(groups) {
    const element = banner();
    const notice = parts.notice(groups);
    if (notice) show(element, notice.kind, "warning", notice.text);
    else element.hidden = true;
}

function show(element, kind, symbol, text) {
    if (element.hidden || element.dataset.kind !== kind) {
        element.replaceChildren(icon(symbol), h("span"));
        element.dataset.kind = kind;
        element.hidden = false;
    }
    setText(element.lastElementChild, text);
}

/** "/" moves to the search field, as on most sites. @param {KeyboardEvent} event */
function shortcuts(event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest("input, select, textarea")) return;
    const field = document.querySelector("[data-search]");
    if (field instanceof HTMLInputElement) {
        event.preventDefault();
        field.focus();
        field.select();
    }
}
