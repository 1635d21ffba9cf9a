/** Draws past samples: a band from minimum to maximum, which is a line where they are equal, and gaps. */

import { isTurn } from "../pure/columns.js";
import { gapsOf, lowerBound } from "../pure/envelope.js";

/**
 * @param {CanvasRenderingContext2D} c one unit per pixel of the page
 * @param {{x: number, y: number, width: number, height: number}} area
 * @param {import("../pure/envelope.js").Series} series
 * @param {{from: number, to: number}} view
 * @param {{low: number, high: number}} range
 * @param {{index: number, colour: string, isCircular: boolean}[]} curves
 */
export function paintSeries(c, area, series, view, range, curves) {
    const { times } = series;
    const perMicro = area.width / (view.to - view.from);
    const perValue = area.height / (range.high - range.low);
    const x = (i) => area.x + (times[i] - view.from) * perMicro;
    const y = (value) => area.y + area.height - (value - range.low) * perValue;
    const first = Math.max(0, lowerBound(times, view.from) - 1);
    const end = Math.min(times.length, lowerBound(times, view.to) + 1);
    for (const { index, colour, isCircular } of curves) {
        const low = series.low[index];
        const high = series.high[index];
        c.fillStyle = colour;
        c.strokeStyle = colour;
        c.lineWidth = 1.25;
        c.lineJoin = "bevel";
        for (let i = first; i < end; ) {
            if (Number.isNaN(low[i])) { i += 1; continue; }
            if (isCircular && isTurn(low[i], high[i])) {
                // A bucket with both sides of north: only its two directions were measured, and not what is between them.
                paintDot(c, x(i), y(low[i]));
                paintDot(c, x(i), y(high[i]));
                i += 1;
                continue;
            }
            let last = i;
            while (last + 1 < end && !series.gaps[last + 1] && !Number.isNaN(low[last + 1]) && !(isCircular && (isTurn(low[last], low[last + 1]) || isTurn(low[last + 1], high[last + 1])))) last += 1;
            paintRun(c, i, last, x, (k) => y(low[k]), (k) => y(high[k]), low !== high);
            i = last + 1;
        }
    }
}

function paintDot(c, x, y) {
    c.fillRect(x - 1.25, y - 1.25, 2.5, 2.5);
}

/** A run of rows without a gap. */
function paintRun(c, first, last, x, yLow, yHigh, isBand) {
    if (first === last) {
        c.fillRect(x(first) - 1.25, yHigh(first) - 1.25, 2.5, Math.max(2.5, yLow(first) - yHigh(first) + 2.5));
        return;
    }
    if (isBand) {
        c.beginPath();
        for (let i = first; i <= last; i += 1) c.lineTo(x(i), yHigh(i));
        for (let i = last; i >= first; i -= 1) c.lineTo(x(i), yLow(i));
        c.globalAlpha = 0.3;
        c.fill();
        c.globalAlpha = 0.85;
        c.beginPath();
        for (let i = first; i <= last; i += 1) c.lineTo(x(i), yHigh(i));
        c.stroke();
    }
    c.beginPath();
    for (let i = first; i <= last; i += 1) c.lineTo(x(i), yLow(i));
    c.stroke();
    c.globalAlpha = 1;
}

/**
 * Shades the intervals without samples.
 * @param {CanvasRenderingContext2D} c @param {{x: number, y: number, width: number, height: number}} area
 * @param {import("../pure/envelope.js").Series} series @param {{from: number, to: number}} view @param {number} until µs; later is not known yet
 * @param {string} fill @param {string|null} text colour; null for no text
 */
export function paintGaps(c, area, series, view, until, fill, text) {
    const from = Math.max(view.from, series.from);
    const to = Math.min(view.to, series.to, until);
    const perMicro = area.width / (view.to - view.from);
    for (const gap of gapsOf(series, from, to)) {
        const x = area.x + (gap.from - view.from) * perMicro;
        const width = Math.max(1, (gap.to - gap.from) * perMicro);
        c.fillStyle = fill;
        c.fillRect(x, area.y, width, area.height);
        if (text !== null && width > 78) {
            c.fillStyle = text;
            c.textAlign = "center";
            c.textBaseline = "middle";
            c.fillText("no samples", x + width / 2, area.y + area.height / 2);
        }
    }
}
