/**
 * The connection to the server where there are no shared workers: one of the windows has the hub, and the others reach it by
 * a broadcast channel. The window with the hub sends a sign of life every second. Without one, for example because that
 * window was closed or hidden, a visible window takes over, and a hidden one much later: a window that becomes frozen leaves
 * the hub to another one. If two windows have a hub, the one that took over last keeps it.
 *
 * For the window it is like the port of a shared worker. It calls `onchange` when another hub has to be told what is shown.
 */

import { Hub } from "./hub.js";

/** The time between two signs of life, in ms. */
const EVERY = 1_000;
/** A hub that was not heard of for this long is gone, in ms. */
const GONE = 3_500;
/** The same for a hidden window: all timers of hidden windows may run once a minute. In ms. */
const GONE_WHILE_HIDDEN = 150_000;
/** A hub answers a new window within this time, in ms. */
const ANSWER = 300;

export class WindowHub {
    /** @type {((event: {data: any}) => void)|null} */
    onmessage = null;
    /** @type {() => void} */
    onchange = () => {};
    #id = `${Date.now()} ${Math.random()}`;
    /** @type {BroadcastChannel} */
    #channel;
    /** @type {Hub|null} if this window has it */
    #hub = null;
    /** @type {Map<string, any>} the hub's ports of all windows */
    #ports = new Map();
    /** When the hub was taken over, in ms since 1970, and by which window; null while none is known. @type {{since: number, id: string}|null} */
    #leader = null;
    #heard = 0;
    #timer = 0;
    #onleave = () => this.#resign();
    #onfreeze = () => {
        clearTimeout(this.#timer);
        this.#resign();
    };
    #onresume = () => this.start();

    /** @param {string} name the same for all windows that share the hub */
    constructor(name) {
        this.#channel = new BroadcastChannel(name);
        this.#channel.onmessage = ({ data }) => this.#receive(data);
        window.addEventListener("pagehide", this.#onleave);
        document.addEventListener("freeze", this.#onfreeze);
        document.addEventListener("resume", this.#onresume);
    }

    /** Uses the hub of another window, or has it if none answers. */
    start() {
        this.#channel.postMessage({ kind: "who" });
        this.#watchIn(ANSWER);
    }

    /** Sends a message to the hub. @param {any} data */
    postMessage(data) {
        if (this.#hub) this.#pass(this.#id, data);
        else this.#channel.postMessage({ kind: "up", from: this.#id, data });
    }

    close() {
        clearTimeout(this.#timer);
        window.removeEventListener("pagehide", this.#onleave);
        document.removeEventListener("freeze", this.#onfreeze);
        document.removeEventListener("resume", this.#onresume);
        this.#resign();
        this.#channel.close();
    }

    #receive(message) {
        if (message.kind === "who" && this.#hub) this.#show();
        else if (message.kind === "up" && this.#hub) this.#pass(message.from, message.data);
        else if (message.kind === "down" && message.to === this.#id) this.onmessage?.({ data: message.data });
        else if (message.kind === "lead") this.#follow(message.leader);
        else if (message.kind === "resign" && message.id === this.#leader?.id) {
            this.#leader = null;
            // One of the others is first.
            this.#watchIn(Math.random() * ANSWER);
        }
    }

    /** Has the hub take a message of a window. @param {string} from @param {any} data */
    #pass(from, data) {
        let port = this.#ports.get(from);
        if (!port) {
            port = { onmessage: null, start() {}, postMessage: (reply) => this.#send(from, reply) };
            this.#ports.set(from, port);
            this.#hub?.connect(port);
        }
        port.onmessage({ data });
        if (data.kind === "bye") this.#ports.delete(from);
    }

    #send(to, data) {
        if (to !== this.#id) return this.#channel.postMessage({ kind: "down", to, data });
        // As by a channel: a copy, and later.
        const copy = structuredClone(data);
        queueMicrotask(() => this.onmessage?.({ data: copy }));
    }

    /** Another window has the hub. @param {{since: number, id: string}} leader */
    #follow(leader) {
        const own = this.#leader;
        if (this.#hub && own && (own.since > leader.since || (own.since === leader.since && own.id > leader.id))) return this.#show();
        this.#heard = performance.now();
        const isNew = own?.id !== leader.id || own.since !== leader.since;
        this.#closeHub();
        this.#leader = leader;
        if (isNew) this.onchange();
    }

    #lead() {
        this.#hub = new Hub();
        this.#leader = { since: Date.now(), id: this.#id };
        this.#show();
        this.onchange();
    }

    #show() {
        this.#channel.postMessage({ kind: "lead", leader: this.#leader });
    }

    #watchIn(delay) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => {
            if (this.#hub) this.#show();
            else if (!this.#leader || performance.now() - this.#heard > (document.hidden ? GONE_WHILE_HIDDEN : GONE)) this.#lead();
            this.#watchIn(EVERY);
        }, delay);
    }

    /** Leaves the hub to another window. */
    #resign() {
        if (!this.#hub) return;
        this.#closeHub();
        this.#leader = null;
        this.#channel.postMessage({ kind: "resign", id: this.#id });
    }

    #closeHub() {
        this.#hub?.close();
        this.#hub = null;
        this.#ports.clear();
    }
}
