/** The state of each part of the system, live. Every view that claims something about it asks here. */

import { promiseOf } from "../pure/delivery.js";
import { isLive, noticeOf, partsOf, seenReports, stateWords, storing, storingAll, storingProblem, withSilent } from "../pure/parts.js";
import { now } from "./clock.js";
import { link } from "./link.js";

class PartsStore extends EventTarget {
    #seen = { status: { fleet: "connecting", events: "connecting", live: "open" }, system: null, isKnown: false };
    /** @type {number|null} ms */
    #lostSince = null;
    /** @type {import("../pure/parts.js").Parts} */
    value = partsOf({ ...this.#seen, lostFor: 0 });
    #text = "";
    /** @type {import("../pure/parts.js").Reports} */
    #reports = new Map();

    start() {
        link.addEventListener("status", (event) => {
            const { kind, ...status } = /** @type {CustomEvent} */ (event).detail;
            this.#seen.status = status;
            this.#lostSince = status.fleet === "lost" ? (this.#lostSince ?? Date.now()) : null;
            this.#update();
        });
        link.addEventListener("system", (event) => {
            const { system, isKnown } = /** @type {CustomEvent} */ (event).detail;
            if (isKnown) {
                this.#reports = seenReports(this.#reports, system.collectors, Date.now());
                system.collectors = withSilent(system.collectors, this.#reports, Date.now());
            }
            Object.assign(this.#seen, { system: system ?? this.#seen.system, isKnown });
            this.#update();
        });
        setInterval(() => this.#update(), 1000);
    }

    /** The time for which the connection to the server is lost, in s. */
    get lostFor() {
        return this.#lostSince === null ? 0 : (Date.now() - this.#lostSince) / 1000;
    }

    /** The last answer about the system; null if there was none. */
    get system() {
        return this.value.system;
    }

    /** Whether states and rates are the present ones. */
    get isLive() {
        return isLive(this.value);
    }

    /** Whether the samples of a group are stored at present, and why not. @param {string} group */
    storing(group) {
        return { storing: storing(this.value, group), reason: storingProblem(this.value, now(), [group]) };
    }

    /** What is promised about the samples of some devices. @param {import("./api.js").Device[]} devices */
    promise(devices) {
        const groups = [...new Set(devices.map(({ group }) => group))];
        return promiseOf(devices, storingAll(this.value, groups), (group) => storing(this.value, group));
    }

    /** @param {string[]} groups */
    notice(groups) {
        return noticeOf(this.value, { groups, lostFor: this.lostFor, now: now() });
    }

    /** @param {string[]} groups */
    words(groups) {
        return stateWords(this.value, groups);
    }

    #update() {
        this.value = partsOf({ ...this.#seen, lostFor: this.lostFor });
        const text = JSON.stringify({ ...this.value, system: this.value.system && { ...this.value.system, at: 0 } });
        if (text === this.#text) return;
        this.#text = text;
        this.dispatchEvent(new Event("change"));
    }
}

export const parts = new PartsStore();
