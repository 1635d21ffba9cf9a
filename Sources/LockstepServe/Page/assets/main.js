/** Start of the page: session, shell, views. */

import { onUnauthorized, request } from "./core/api.js";
import { ruleEvents } from "./core/events-store.js";
import { fleet } from "./core/fleet-store.js";
import { notifications } from "./core/notifications.js";
import { parseRoute } from "./core/router.js";
import { session } from "./core/session.js";
import { setUpShell, showView } from "./core/shell.js";

const LOADERS = {
    fleet: () => import("./fleet/view.js"),
    map: () => import("./map/view.js"),
    device: () => import("./device/view.js"),
    events: () => import("./events/view.js"),
    bouncer: () => import("./bouncer/view.js"),
    system: () => import("./system/view.js"),
    unknown: () => import("./system/unknown.js"),
};

/** @type {(() => void)|null} */
let leave = null;
let visit = 0;

/** Shows the view of the address. */
async function navigate({ isFirst = false } = {}) {
    const route = parseRoute(location.hash);
    const main = /** @type {HTMLElement} */ (document.getElementById("main"));
    visit += 1;
    const current = visit;
    const module = await LOADERS[route.view]();
    if (current !== visit) return;
    leave?.();
    main.replaceChildren();
    window.scrollTo(0, 0);
    const shown = module.show(main, route);
    leave = shown.leave ?? null;
    showView(route.view, shown.title);
    if (!isFirst) main.focus({ preventScroll: true });
}

async function start() {
    setUpShell();
    onUnauthorized(() => session.ask());
    await session.load();
    await session.ready();
    fleet.start();
    notifications.start();
    ruleEvents.start();
    session.addEventListener("opened", () => {
        fleet.start();
        ruleEvents.start();
        navigate();
    });
    window.addEventListener("hashchange", () => navigate());
    document.getElementById("skip")?.addEventListener("click", (event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
    });
    await navigate({ isFirst: true });
    request("/system").then((system) => session.setSystem(system)).catch(() => {});
}

start();
