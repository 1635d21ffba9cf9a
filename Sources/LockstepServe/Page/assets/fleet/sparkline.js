/** The rate of a device over the last minutes as a small curve. Missing values are gaps. */

import { h } from "../core/dom.js";
import { onThemeChange, token } from "../core/theme.js";

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

    constructor() {
        const scale = Math.min(2, window.devicePixelRatio || 1);
        this.canvas = h("canvas", { class: "spark", width: WIDTH * scale, height: HEIGHT * scale, role: "img", "aria-label": "Rate over the last two minutes" });
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
        let most = 0;
        for (const value of values) if (value > most) most = value;
        const y = (value) => HEIGHT - 2 - (most > 0 ? value / (most * 1.1) : 0) * (HEIGHT - 5);
        const step = WIDTH / (values.length - 1);
        const colour = colours.curve;
        c.fillStyle = colours.line;
        c.fillRect(0, HEIGHT - 1.5, WIDTH, 1);
        if (most === 0) return;
        for (let i = 0; i < values.length; ) {
            if (Number.isNaN(values[i])) { i += 1; continue; }
            let end = i;
            while (end + 1 < values.length && !Number.isNaN(values[end + 1])) end += 1;
            c.beginPath();
            for (let k = i; k <= end; k += 1) c.lineTo(k * step, y(values[k]));
            if (i === end) c.lineTo(i * step + 1.5, y(values[i]));
            c.strokeStyle = colour;
            c.lineWidth = 1.4;
            c.lineJoin = "round";
            c.stroke();
            c.lineTo(end * step, HEIGHT - 1.5);
            c.lineTo(i * step, HEIGHT - 1.5);
            c.globalAlpha = 0.13;
            c.fillStyle = colour;
            c.fill();
            c.globalAlpha = 1;
            i = end + 1;
        }
    }
}
