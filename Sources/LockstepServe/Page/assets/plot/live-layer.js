/**
 * The curves of a live chart. The newest samples are drawn to the right of the previous ones on a canvas that is used as a
 * ring, so a frame costs only its new samples and two copies, however many samples are in view.
 */

import { isTurn } from "../pure/columns.js";

/** Columns of pixels that are cleared in advance, for the width of the line. */
const AHEAD = 6;

export class LiveLayer {
    #canvas = document.createElement("canvas");
    #context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext("2d"));
    #signature = "";
    #base = 0;
    #cleared = 0;
    #next = 0;
    #right = 0;

    /**
     * Brings the layer up to a time and copies it to the chart.
     * @param {CanvasRenderingContext2D} target with a transform of one unit per pixel of the screen
     * @param {{x: number, y: number, width: number, height: number}} area in pixels of the screen
     * @param {object} chart
     * @param {import("../pure/ring.js").SampleRing} chart.ring
     * @param {number[]} chart.columns indices of the columns to draw
     * @param {number[]} chart.factors @param {number[]} chart.offsets from the values of these columns to what is drawn
     * @param {string[]} chart.colours of these columns
     * @param {string} chart.gapColour
     * @param {{low: number, high: number}} chart.range
     * @param {number} chart.time of the right edge, in µs
     * @param {number} chart.span in µs
     * @param {(i: number) => boolean} chart.isGapBefore whether samples are missing before one
     * @param {boolean[]} chart.circular whether 360 follows 0 in these columns
     * @param {number} chart.scale pixels of the screen per unit of the page
     */
    draw(target, area, chart) {
        const { time, span, scale } = chart;
        const perMicro = area.width / span;
        const signature = [area.width, area.height, span, chart.range.low, chart.range.high, chart.columns, chart.factors, chart.offsets, chart.colours, scale].join("|");
        const jump = Math.abs((time - this.#base) * perMicro - this.#right) > area.width;
        if (signature !== this.#signature || jump || chart.ring.start > this.#next) {
            this.#signature = signature;
            this.#reset(area, chart, perMicro);
        }
        const right = Math.floor((time - this.#base) * perMicro);
        this.#clear(right + AHEAD);
        this.#extend(area, chart, perMicro);
        this.#right = right;
        this.#copy(target, area, right);
    }

    #reset(area, { ring, time, span }, perMicro) {
        this.#canvas.width = Math.ceil(area.width) + AHEAD + 4;
        this.#canvas.height = Math.max(1, Math.round(area.height));
        // Large times minus a base near them: coordinates stay exact.
        this.#base = time - span - 2e6;
        this.#cleared = Math.floor((time - this.#base) * perMicro) + AHEAD;
        this.#right = this.#cleared - AHEAD;
        this.#next = ring.indexAt(time - span - 1e6);
    }

    /** Clears the columns of pixels up to one. @param {number} until */
    #clear(until) {
        const width = this.#canvas.width;
        let count = Math.min(width, until - this.#cleared);
        let from = this.#cleared + 1;
        if (count <= 0) return;
        this.#cleared = until;
        while (count > 0) {
            const x = ((from % width) + width) % width;
            const part = Math.min(count, width - x);
            this.#context.clearRect(x, 0, part, this.#canvas.height);
            from += part;
            count -= part;
        }
    }

    /** Draws the samples up to the right edge that are not drawn yet. */
    #extend(area, { ring, columns, factors, offsets, colours, circular, gapColour, range, time, isGapBefore, scale }, perMicro) {
        const end = ring.indexAt(time);
        if (end <= this.#next) return;
        const first = Math.max(ring.start, this.#next - 1);
        const c = this.#context;
        const width = this.#canvas.width;
        const perValue = area.height / (range.high - range.low);
        const startX = (ring.timeAt(first) - this.#base) * perMicro;
        const endX = (ring.timeAt(end - 1) - this.#base) * perMicro;
        // The canvas has the columns of pixels after this one. What is left of them would be drawn to the right.
        const left = this.#cleared - width + 1;
        const lap = Math.floor(Math.max(startX, left) / width) * width;
        const gaps = new Set();
        for (let i = first + 1; i < end; i += 1) if (isGapBefore(i)) gaps.add(i);
        for (let shift = lap; shift <= endX + 2; shift += width) {
            c.save();
            c.translate(-shift, 0);
            c.beginPath();
            c.rect(left, 0, width, this.#canvas.height);
            c.clip();
            c.fillStyle = gapColour;
            for (const i of gaps) {
                const x0 = (ring.timeAt(i - 1) - this.#base) * perMicro;
                c.fillRect(x0, 0, (ring.timeAt(i) - this.#base) * perMicro - x0, area.height);
            }
            c.lineWidth = 1.35 * scale;
            c.lineJoin = "bevel";
            columns.forEach((column, k) => {
                c.strokeStyle = colours[k];
                c.beginPath();
                let isDown = false;
                for (let i = first; i < end; i += 1) {
                    const value = ring.valueAt(i, column);
                    if (Number.isNaN(value)) { isDown = false; continue; }
                    const x = (ring.timeAt(i) - this.#base) * perMicro;
                    const y = area.height - (value * factors[k] + offsets[k] - range.low) * perValue;
                    if (isDown && !gaps.has(i) && !(circular[k] && isTurn(value, ring.valueAt(i - 1, column)))) c.lineTo(x, y);
                    else c.moveTo(x, y);
                    isDown = true;
                }
                c.stroke();
            });
            c.restore();
        }
        this.#next = end;
    }

    #copy(target, area, right) {
        const width = this.#canvas.width;
        const height = this.#canvas.height;
        let x = right - Math.floor(area.width);
        let to = area.x;
        let left = Math.floor(area.width);
        while (left > 0) {
            const from = ((x % width) + width) % width;
            const part = Math.min(left, width - from);
            target.drawImage(this.#canvas, from, 0, part, height, to, area.y, part, height);
            x += part;
            to += part;
            left -= part;
        }
    }
}
