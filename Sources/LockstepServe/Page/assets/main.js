/** Start of the page: session, shell, views. */

import { onUnauthorized } from "./core/api.js";
import { ruleEvents } from "./core/events-store.js";
import { emptyState, h } from "./core/dom.js";
import { fleet } from "./core/fleet-store.js";
import { link } from "./core/link.js";
import { notifications } from "./core/notifications.js";
import { parts } from "./core/parts.js";
import { setUpPreferences } from "./core/preferences.js";
import { parseRoute } from "./core/router.js";
import { session } from "./core/session.js";
import { closeMore, setUpShell, showView } from "./core/shell.js";

/** The module of each view, loaded when it is shown first. */
const VIEWS = {
    fleet: "./fleet/view.js",
    map: "./map/view.js",
    device: "./device/view.js",
    events: "./events/view.js",
    bouncer: "./bouncer/view.js",
    system: "./system/view.js",
    unknown: "./system/unknown.js",
};

/** @type {(() => void)|null} */
let leave = null;
let visit = 0;

/** Shows the view of the address. */
async function navigate({ isFirst = false, keepsMore = false } = {}) {
    const route = parseRoute(location.hash);
    const main = /** @type {HTMLElement} */ (document.getElementById("main"));
    visit += 1;
    const current = visit;
    const module = await import(VIEWS[route.view]).catch(() => ({ show: (element) => showMissing(element, VIEWS[route.view]) }));
    if (current !== visit) return;
    leave?.();
    main.replaceChildren();
    window.scrollTo(0, 0);
    const shown = module.show(main, route);
    leave = shown.leave ?? null;
    showView(route, shown.title);
    if (!keepsMore) closeMore();
    if (!isFirst) main.focus({ preventScroll: true });
}

/**
 * Stands in for a view whose module could not be loaded, until the server has it.
 * @param {HTMLElement} main @param {string} module
 */
function showMissing(main, module) {
    // Browsers may keep the failure of a module: only a new page asks again.
    const timer = setInterval(async () => {
        const reply = await fetch(new URL(module, import.meta.url), { method: "HEAD" }).catch(() => null);
        if (reply?.ok) location.reload();
    }, 1000);
    main.append(h("div", { class: "view" }, emptyState({ symbol: "warning", title: "This view could not be loaded", text: "The server does not answer. The view appears as soon as the connection is back.",
        action: h("button", { class: "button", type: "button", onclick: () => location.reload() }, "Load again") })));
    return { title: "Not loaded", leave: () => clearInterval(timer) };
}

async function start() {
    setUpShell();
    setUpPreferences(/** @type {HTMLElement} */ (document.querySelector(".more-list")), () => navigate({ isFirst: true, keepsMore: true }));
    onUnauthorized(() => session.ask());
    link.addEventListener("unauthorized", () => session.ask());
    link.addEventListener("system", (event) => /** @type {CustomEvent} */ (event).detail.isKnown && session.resume());
    await session.load();
    parts.start();
    fleet.start();
    notifications.start();
    ruleEvents.start();
    session.addEventListener("opened", (event) => /** @type {CustomEvent} */ (event).detail.isNew && link.reopen());
    session.addEventListener("closed", () => link.lock());
    link.start(session.state.version, () => session.isOpen);
    await session.ready();
    session.addEventListener("opened", () => navigate());
    window.addEventListener("hashchange", () => navigate());
    document.getElementById("skip")?.addEventListener("click", (event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
    });
    await navigate({ isFirst: true });
}

start();
