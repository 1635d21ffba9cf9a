/** Positions of the phone. */

import { isApple } from "../pure/identity.js";

export class LocationSensor {
    /** @type {"off"|"waiting"|"running"|"searching"|"denied"|"absent"} */
    status = "off";
    /** @type {number|null} m */
    accuracy = null;
    #add;
    #clock;
    #watch = null;

    /** @param {(stream: string, time: number, values: any[]) => void} add @param {import("../pure/event-clock.js").EventClock} clock */
    constructor(add, clock) {
        this.#add = add;
        this.#clock = clock;
    }

    start() {
        this.stop();
        if (!navigator.geolocation) {
            this.status = "absent";
            return;
        }
        this.status = "waiting";
        this.#watch = navigator.geolocation.watchPosition((position) => this.#receive(position), (error) => {
            this.status = error.code === error.PERMISSION_DENIED ? "denied" : "searching";
        }, { enableHighAccuracy: true, maximumAge: 0, timeout: 30_000 });
    }

    stop() {
        if (this.#watch !== null) navigator.geolocation.clearWatch(this.#watch);
        this.#watch = null;
        this.status = "off";
    }

    /** @param {GeolocationPosition} position */
    #receive({ coords, timestamp }) {
        this.status = "running";
        this.accuracy = coords.accuracy;
        const known = (value) => (Number.isFinite(value) ? value : null);
        const notNegative = (value) => (Number.isFinite(value) && value >= 0 ? value : null);
        // The W3C defines altitude above the ellipsoid; iOS above mean sea level.
        const altitude = isApple() ? known(coords.altitude) : null;
        const at = Math.round(timestamp * 1000);
        this.#add("location", this.#clock.microseconds(performance.now()), [
            coords.latitude, coords.longitude, altitude, notNegative(coords.accuracy),
            altitude === null ? null : notNegative(coords.altitudeAccuracy), notNegative(coords.speed), notNegative(coords.heading), null,
            Number.isSafeInteger(at) && at > 0 ? at : null,
        ]);
    }
}
