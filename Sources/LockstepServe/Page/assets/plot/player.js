/** Playing the past: the cursor moves through the plots, and all cards of the device with it. */

import { h, icon, select } from "../core/dom.js";
import { store, stored } from "../core/settings.js";
import { played, SPEEDS } from "../pure/moment.js";

export class Player {
    #before = 0;

    /** @param {import("../device/moment.js").Moment} moment @param {{onplay: () => void, onpause: () => void}} options */
    constructor(moment, { onplay, onpause }) {
        this.moment = moment;
        this.onplay = onplay;
        this.onpause = onpause;
        const speed = Number(stored("play.speed", 1));
        moment.speed = SPEEDS.includes(speed) ? speed : 1;
        this.button = h("button", { class: "button quiet icon-only", type: "button", onclick: () => (moment.isPlaying ? this.pause() : this.play()) });
        const speeds = select({ label: "Speed of playback", value: String(moment.speed), options: SPEEDS.map((value) => ({ value: String(value), text: `${value} ×` })), onchange: (value) => {
            moment.speed = Number(value);
            store("play.speed", moment.speed);
        } });
        this.element = h("span", { class: "player" }, this.button, speeds);
        this.#draw();
    }

    play() {
        this.moment.isPlaying = true;
        this.#before = performance.now();
        this.#draw();
        this.onplay();
    }

    pause() {
        if (!this.moment.isPlaying) return;
        this.moment.isPlaying = false;
        this.#draw();
        this.onpause();
    }

    /** Returns the moment of this frame; null when playback has reached the present. @param {number} mark @param {number} now */
    step(mark, now) {
        const time = performance.now();
        const next = played(mark, time - this.#before, this.moment.speed, now);
        this.#before = time;
        return next;
    }

    #draw() {
        const { isPlaying } = this.moment;
        const label = isPlaying ? "Pause" : "Play from the mark, or from the start of the range";
        this.button.replaceChildren(icon(isPlaying ? "pause" : "play"));
        this.button.setAttribute("aria-label", label);
        this.button.title = label;
    }
}
