/**
 * The window's end of the connection that all windows of a browser share. Its events are the messages of the hub by their
 * kind: `devices`, `events`, `samples`, `time`, `system`, `status`, `unauthorized`.
 */

import { WindowHub } from "./window-hub.js";

/** The hub sends something every 1.5 s to a visible window. After this time without it, the window connects anew. In ms. */
const SILENCE = 10_000;
/** The time between two messages to the hub, in ms. */
const EVERY = 20_000;

class Link extends EventTarget {
    /** @type {MessagePort|WindowHub|null} */
    #port = null;
    /** @type {Map<object, string[]>} the streams that each part of the page shows */
    #wants = new Map();
    #heard = 0;
    #name = "";
    #hasSession = () => false;

    /**
     * @param {string} version of the server: windows with other files of the page have a connection of their own
     * @param {() => boolean} hasSession whether the window may read
     */
    start(version, hasSession) {
        this.#hasSession = hasSession;
        this.#name = `lockstep ${version}`;
        this.#connect();
        document.addEventListener("visibilitychange", () => this.#report());
        window.addEventListener("pagehide", () => this.#port?.postMessage({ kind: "bye" }));
        window.addEventListener("pageshow", ({ persisted }) => persisted && this.#report());
        setInterval(() => this.#report(), EVERY);
        setInterval(() => this.#watch(), 1000);
    }

    /** Connects to the server again, with a new session. */
    reopen() {
        this.#port?.postMessage({ kind: "reopen" });
    }

    /** Ends the connection of all windows, because this one has ended the session and leaves. */
    lock() {
        this.#port?.postMessage({ kind: "lock" });
    }

    /**
     * Names the streams whose samples a part of the page shows.
     * @param {object} owner @param {string[]} keys `group/device stream` @param {string[]} replay those whose recent samples it needs
     */
    want(owner, keys, replay) {
        if (keys.length) this.#wants.set(owner, keys);
        else this.#wants.delete(owner);
        this.#report(replay);
    }

    #connect() {
        this.#heard = performance.now();
        try {
            const worker = new SharedWorker(new URL("./hub-worker.js", import.meta.url), { type: "module", name: this.#name });
            worker.onerror = () => this.#connectWindows();
            this.#use(worker.port);
        } catch {
            this.#connectWindows();
        }
    }

    /** Without shared workers, one window has the connection of all. */
    #connectWindows() {
        const hub = new WindowHub(this.#name);
        hub.onchange = () => this.#report(this.#keys());
        this.#use(hub);
    }

    /** @param {MessagePort|WindowHub} port */
    #use(port) {
        this.#port?.postMessage({ kind: "bye" });
        this.#port?.close();
        this.#port = port;
        port.onmessage = ({ data }) => {
            this.#heard = performance.now();
            this.dispatchEvent(new CustomEvent(data.kind, { detail: data }));
        };
        port.start();
        this.#report(this.#keys());
    }

    #keys() {
        return [...new Set([...this.#wants.values()].flat())];
    }

    /** @param {string[]} [replay] */
    #report(replay = []) {
        this.#port?.postMessage({ kind: "state", visible: !document.hidden, wants: this.#keys(), replay, hasSession: this.#hasSession() });
    }

    #watch() {
        if (document.hidden) this.#heard = performance.now();
        if (performance.now() - this.#heard < SILENCE) return;
        this.dispatchEvent(new CustomEvent("status", { detail: { kind: "status", fleet: "lost", events: "lost", live: "lost" } }));
        this.#connect();
    }
}

export const link = new Link();
