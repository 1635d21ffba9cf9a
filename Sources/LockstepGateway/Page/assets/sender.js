/** Sends the batches of the queue, the oldest first, one after the other. */

import { isObstacle, outcome, refusalText } from "./pure/reply.js";

const ADDRESS = "/join/api/v1/batches";
/** A gateway that does not answer within this time is asked again. */
const LIMIT = 20_000;
/** Requests that outlive the page may have no more than 64 KB. */
const KEEPALIVE_LIMIT = 60_000;

export class Sender extends EventTarget {
    /** @type {"idle"|"sending"|"waiting"|"stopped"} */
    status = "idle";
    /** @type {{kind: string, detail: string, status?: number}|null} the last failure, until a batch is stored */
    problem = null;
    /** @type {number|null} ms */
    lastStored = null;
    stored = 0;
    #queue;
    #settings;
    #failures = 0;
    #timer = 0;
    #isBusy = false;
    /** A batch may have been added after the end of the queue was read. */
    #isAskedAgain = false;
    /** The settings may have changed after the request was made that fails now. */
    #isRetryAsked = false;

    /** @param {import("./queue.js").Queue} queue @param {() => {token: string, group: string, device: string}} settings the present ones */
    constructor(queue, settings) {
        super();
        this.#queue = queue;
        this.#settings = settings;
        window.addEventListener("online", () => this.retryNow());
    }

    /** Sends what is in the queue, unless it is being sent, a delay runs, or the settings must be changed first. */
    wake() {
        if (this.status === "waiting" || this.status === "stopped") return;
        this.#isAskedAgain = this.#isBusy;
        if (this.#isBusy) return;
        this.#isBusy = true;
        this.#run().catch((error) => this.#fail({ kind: "later", delay: 5000, status: -1, detail: `The database of the browser cannot be read: ${error?.message ?? error}` }))
            .finally(() => {
                this.#isBusy = false;
                if (this.#isRetryAsked) this.retryNow();
                else if (this.#isAskedAgain) this.wake();
            });
    }

    /** Sends at once, for example because the connection is back or the settings have changed. */
    retryNow() {
        clearTimeout(this.#timer);
        this.#isRetryAsked = this.#isBusy;
        if (this.status === "waiting" || this.status === "stopped") this.#set("idle");
        this.wake();
    }

    /**
     * Sends the last batch of a page that ends, at once, if no earlier one waits. The reply does not arrive any more: the next
     * page sends the batch again, and the gateway knows it by its number.
     * @param {import("./queue.js").Batch} batch
     */
    sendLast({ made, ...batch }) {
        if (this.#isBusy || this.status !== "idle") return;
        const body = this.#body(batch);
        if (body.length < KEEPALIVE_LIMIT) fetch(ADDRESS, { ...this.#request(body), keepalive: true }).catch(() => {});
    }

    #body(batch) {
        return JSON.stringify({ ...batch, sent: Date.now() });
    }

    #request(body) {
        const { token } = this.#settings();
        const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
        return { method: "POST", headers, body, cache: /** @type {const} */ ("no-store"), credentials: /** @type {const} */ ("omit") };
    }

    async #run() {
        for (;;) {
            const head = await this.#queue.first();
            if (!head) {
                this.problem = null;
                return this.#set("idle");
            }
            this.#set("sending");
            const result = await this.#post(head.batch);
            if (result.kind === "stored") {
                await this.#queue.remove(head);
                this.#failures = 0;
                this.problem = null;
                this.lastStored = Date.now();
                this.stored += 1;
                this.dispatchEvent(new Event("change"));
            } else if (isObstacle(result, head.batch, this.#settings())) {
                await this.#queue.refuse(head, refusalText(result, head.batch, this.#settings()));
                this.#failures = 0;
                this.problem = null;
                this.dispatchEvent(new Event("change"));
            } else {
                return this.#fail(result);
            }
        }
    }

    /** @param {import("./queue.js").Batch} batch @returns {Promise<import("./pure/reply.js").Outcome>} */
    async #post({ made, ...batch }) {
        const body = this.#body(batch);
        try {
            const reply = await fetch(ADDRESS, { ...this.#request(body), keepalive: document.hidden && body.length < KEEPALIVE_LIMIT, signal: AbortSignal.timeout(LIMIT) });
            // Only a reply that has arrived as a whole counts.
            const answer = await reply.json().catch(() => null);
            if (reply.ok && answer?.accepted !== true) return outcome(0, "The answer is not that of a gateway.", null, this.#failures);
            return outcome(reply.status, answer?.detail ?? "", reply.headers.get("Retry-After"), this.#failures);
        } catch {
            return outcome(0, "", null, this.#failures);
        }
    }

    #fail(result) {
        this.problem = result;
        this.#failures += 1;
        if (result.kind === "later") {
            this.#timer = setTimeout(() => this.retryNow(), result.delay);
            this.#set("waiting");
        } else {
            this.#set("stopped");
        }
    }

    #set(status) {
        this.status = status;
        this.dispatchEvent(new Event("change"));
    }
}
