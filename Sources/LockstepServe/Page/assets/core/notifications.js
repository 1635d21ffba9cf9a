/** Notifications of the browser about new events, by choice. */

import { ruleEvents } from "./events-store.js";
import { store, stored } from "./settings.js";

const SETTING = "events.notify";

class Notifications extends EventTarget {
    /** Whether this browser can show them: it needs HTTPS or this machine. */
    get isSupported() {
        return "Notification" in window && window.isSecureContext;
    }

    get isBlocked() {
        return this.isSupported && Notification.permission === "denied";
    }

    get isOn() {
        return this.isSupported && Notification.permission === "granted" && stored(SETTING, false) === true;
    }

    /** Shows new events from now on. */
    start() {
        ruleEvents.addEventListener("news", (event) => this.#show(/** @type {CustomEvent} */ (event).detail));
    }

    /** Turns them on, which asks the user for permission, or off. @param {boolean} isOn */
    async set(isOn) {
        const isAllowed = isOn && (await Notification.requestPermission()) === "granted";
        store(SETTING, isAllowed);
        this.dispatchEvent(new Event("change"));
    }

    /** Windows use the same tag for an event, so the browser shows one notification. @param {import("../pure/events.js").RuleEvent} event */
    #show(event) {
        if (!this.isOn) return;
        const shown = new Notification(event.device ?? "Collector", { body: event.text, tag: `${event.device} ${event.rule} ${event.t}`, icon: new URL("../logo.svg", import.meta.url).href });
        shown.onclick = () => {
            window.focus();
            location.hash = "#/events";
            shown.close();
        };
    }
}

export const notifications = new Notifications();
