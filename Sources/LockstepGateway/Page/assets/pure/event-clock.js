/** Times of events in µs since 1970: from a clock that only moves forwards, set by the clock of the phone. */

/** The clocks differ after a pause in which the phone slept, or when its clock is set. */
const STEP = 500;

export class EventClock {
    #offset;

    /** @param {number} wall ms since 1970 @param {number} monotonic ms of the browser */
    constructor(wall, monotonic) {
        this.#offset = wall - monotonic;
    }

    /** Compares the clocks; sets the offset anew if it is off by more than half a second. Returns whether it was. */
    check(wall, monotonic) {
        const offset = wall - monotonic;
        if (Math.abs(offset - this.#offset) < STEP) return false;
        this.#offset = offset;
        return true;
    }

    /** @param {number} monotonic ms, the time stamp of an event */
    microseconds(monotonic) {
        return Math.round((monotonic + this.#offset) * 1000);
    }
}
