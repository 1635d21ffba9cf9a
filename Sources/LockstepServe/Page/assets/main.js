/** Start of the page: session, shell, views. */

import { show as showBouncer } from "./bouncer/view.js";
import { onUnauthorized } from "./core/api.js";
import { ruleEvents } from "./core/events-store.js";
import { fleet } from "./core/fleet-store.js";
import { link } from "./core/link.js";
import { notifications } from "./core/notifications.js";
import { parts } from "./core/parts.js";
import { setUpPreferences } from "./core/preferences.js";
import { parseRoute } from "./core/router.js";
import { session } from "./core/session.js";
import { closeMore, setUpShell, showView } from "./core/shell.js";
import { show as showDevice } from "./device/view.js";
import { show as showEvents } from "./events/view.js";
import { show as showFleet } from "./fleet/view.js";
import { show as showMap } from "./map/view.js";
import { show as showSessions } from "./recording/view.js";
import { show as showUnknown } from "./system/unknown.js";
import { show as showSystem } from "./system/view.js";

const VIEWS = { fleet: showFleet, map: showMap, device: showDevice, events: showEvents, sessions: showSessions, bouncer: showBouncer, system: showSystem, unknown: showUnknown };

/** @type {(() => void)|null} */
let leave = null;

/** Shows the view of the address. */
function navigate({ isFirst = false, keepsMore = false } = {}) {
    const route = parseRoute(location.hash);
    const main = /** @type {HTMLElement} */ (document.getElementById("main"));
    leave?.();
    main.replaceChildren();
    window.scrollTo(0, 0);
    const shown = VIEWS[route.view](main, route);
    leave = shown.leave ?? null;
    showView(route, shown.title);
    if (!keepsMore) closeMore();
    if (!isFirst) main.focus({ preventScroll: true });
}

/** What the server has written into the page; empty if it has not. @param {string} id */
function written(id) {
    const element = document.getElementById(id);
    element?.remove();
    return element?.textContent ?? "";
}

async function start() {
    setUpShell();
    setUpPreferences(/** @type {HTMLElement} */ (document.querySelector(".more-list")), () => navigate({ isFirst: true, keepsMore: true }));
    onUnauthorized(() => session.ask());
    link.addEventListener("unauthorized", () => session.ask());
    link.addEventListener("system", (event) => /** @type {CustomEvent} */ (event).detail.isKnown && session.resume());
    await session.load(written("session"));
    parts.start();
    fleet.start();
    if (session.isOpen) fleet.begin(written("devices"));
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
    navigate({ isFirst: true });
}

start();
