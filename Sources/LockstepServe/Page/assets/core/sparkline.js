/** The rate of a device over the last minutes as a small curve. Missing values are gaps. */

import { h } from "./dom.js";
import { onThemeChange, token } from "./theme.js";

const WIDTH = 132;
const HEIGHT = 28;

// Read once: reading a style between changes of the document makes the browser compute all styles again.
let colours = readColours();
onThemeChange(() => {
    colours = readColours();
});

function readColours() {
    return { curve: token("--accent"), line: token("--line") };
}

export class Sparkline {
    #drawn = "";
    /** @type {Float32Array|null} */
    #values = null;

    /** @param {{label?: string, isRate?: boolean}} [options] the axis of a rate begins at zero; that of other values at the lowest one */
    constructor({ label = "Rate over the last two minutes", isRate = true } = {}) {
        this.isRate = isRate;
        const scale = Math.min(2, window.devicePixelRatio || 1);
        this.canvas = h("canvas", { class: "spark", width: WIDTH * scale, height: HEIGHT * scale, role: "img", "aria-label": label });
        this.context = this.canvas.getContext("2d");
        this.context.scale(scale, scale);
    }

    /** @param {Float32Array} values @param {string} signature changes with the values */
    update(values, signature) {
        this.#values = values;
        if (signature === this.#drawn) return;
        this.#drawn = signature;
        this.#draw(values);
    }

    redraw() {
        if (this.#values) this.#draw(this.#values);
    }

    /** @param {Float32Array} values */
    #draw(values) {
        const c = this.context;
        c.clearRect(0, 0, WIDTH, HEIGHT);
        let [least, most] = this.isRate ? [0, 0] : [Infinity, -Infinity];
        for (const value of values) {
            if (value > most) most = value;
            if (value < least) least = value;
        }
        const span = (most - least) * 1.1;
        const y = (value) => HEIGHT - 2 - (span > 0 ? (value - least) / span : 0.45) * (HEIGHT - 5);
        const step = WIDTH / (values.length - 1);
        c.fillStyle = colours.line;
        c.fillRect(0, HEIGHT - 1.5, WIDTH, 1);
        if (this.isRate && most === 0) return;
        for (let i = 0; i < values.length; ) {
            if (Number.isNaN(values[i])) { i += 1; continue; }
            let end = i;
            while (end + 1 < values.length && !Number.isNaN(values[end + 1])) end += 1;
            this.#drawRun(values, i, end, step, y);
            i = end + 1;
        }
    }

    /** A run of values without a gap. */
    #drawRun(values, first, end, step, y) {
        const c = this.context;
        c.beginPath();
        for (let k = first; k <= end; k += 1) c.lineTo(k * step, y(values[k]));
        if (first === end) c.lineTo(first * step + 1.5, y(values[first]));
        c.strokeStyle = colours.curve;
        c.lineWidth = 1.4;
        c.lineJoin = "round";
        c.stroke();
        if (!this.isRate) return;
        c.lineTo(end * step, HEIGHT - 1.5);
        c.lineTo(first * step, HEIGHT - 1.5);
        c.globalAlpha = 0.13;
        c.fillStyle = colours.curve;
        c.fill();
        c.globalAlpha = 1;
    }
}
