/** Charge of the battery, in browsers that report it. */

const INTERVAL = 300_000;

export class BatterySensor {
    #add;
    #clock;
    #battery = null;
    #timer = 0;

    /** @param {(stream: string, time: number, values: any[]) => void} add @param {import("../pure/event-clock.js").EventClock} clock */
    constructor(add, clock) {
        this.#add = add;
        this.#clock = clock;
    }

    async start() {
        this.stop();
        const battery = await navigator.getBattery?.().catch(() => null);
        if (!battery) return;
        this.#battery = battery;
        battery.addEventListener("levelchange", this.#report);
        battery.addEventListener("chargingchange", this.#report);
        this.#timer = setInterval(this.#report, INTERVAL);
        this.#report();
    }

    stop() {
        clearInterval(this.#timer);
        this.#battery?.removeEventListener("levelchange", this.#report);
        this.#battery?.removeEventListener("chargingchange", this.#report);
        this.#battery = null;
    }

    #report = () => {
        const { level, charging } = this.#battery;
        const state = !charging ? "discharging" : level === 1 ? "full" : "charging";
        this.#add("battery", this.#clock.microseconds(performance.now()), [level, state]);
    };
}
