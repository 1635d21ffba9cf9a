/** The rate of a stream over the last seconds. */

const WINDOW = 3000;

export class Rate {
    /** @type {number[]} */
    #times = [];

    /** @param {number} now ms */
    count(now) {
        this.#times.push(now);
        if (this.#times.length > 1000) this.#times.splice(0, 500);
    }

    /** Events a second; 0 if there were none. @param {number} now ms */
    at(now) {
        while (this.#times.length && this.#times[0] < now - WINDOW) this.#times.shift();
        return this.#times.length < 2 ? this.#times.length / (WINDOW / 1000) : (this.#times.length - 1) * 1000 / Math.max(1, this.#times[this.#times.length - 1] - this.#times[0]);
    }
}
