/** The background, the grid and the axes of a chart. */

import { day, fixed, timeOfDay, zoneOffset } from "../pure/format.js";
import { ticks, timeTicks } from "../pure/scale.js";

/**
 * Draws the value axis. Returns the room that its labels need, and the decimals of a value on it.
 * @param {CanvasRenderingContext2D} c @param {number} scale @param {{width: number, height: number}} size
 * @param {{x: number, y: number, width: number, height: number}} area @param {{low: number, high: number}} range @param {{grid: string, text: string, font: string}} colours
 */
export function paintFrame(c, scale, { width, height }, area, range, colours) {
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, width, height);
    c.font = colours.font;
    c.lineWidth = 1;
    c.strokeStyle = colours.grid;
    c.fillStyle = colours.text;
    c.textAlign = "right";
    c.textBaseline = "middle";
    const values = ticks(range.low, range.high, Math.max(2, area.height / 34));
    let widest = 0;
    c.beginPath();
    for (const value of values.ticks) {
        const y = Math.round(area.y + area.height - ((value - range.low) / (range.high - range.low)) * area.height) + 0.5;
        c.moveTo(area.x, y);
        c.lineTo(area.x + area.width, y);
        const text = fixed(Math.abs(value) < values.step / 1e6 ? 0 : value, values.decimals);
        widest = Math.max(widest, c.measureText(text).width);
        c.fillText(text, area.x - 8, y);
    }
    c.stroke();
    c.textBaseline = "top";
    c.textAlign = "center";
    return { widest, decimals: Math.min(6, values.decimals + 1) };
}

/** @param {CanvasRenderingContext2D} c @param {{x: number, y: number, width: number, height: number}} area */
export function paintLiveTicks(c, area) {
    for (let s = 0; s <= 30; s += area.width < 340 ? 10 : 5) {
        const x = area.x + area.width * (1 - s / 30);
        c.textAlign = s === 0 ? "right" : s === 30 ? "left" : "center";
        c.fillText(s === 0 ? "now" : `−${s} s`, x, area.y + area.height + 6);
    }
}

/** @param {CanvasRenderingContext2D} c @param {{x: number, y: number, width: number, height: number}} area @param {{from: number, to: number}} view */
export function paintTimeTicks(c, area, view) {
    const offset = zoneOffset(view.to);
    const { ticks: times, step } = timeTicks(view.from, view.to, area.width / 86, offset);
    const perMicro = area.width / (view.to - view.from);
    c.beginPath();
    for (const t of times) {
        const x = Math.round(area.x + (t - view.from) * perMicro) + 0.5;
        c.moveTo(x, area.y);
        c.lineTo(x, area.y + area.height);
        if (x < area.x + 24 || x > area.x + area.width - 22) continue;
        const isMidnight = (t + offset) % 86400e6 === 0;
        c.fillText(isMidnight ? day(t, { year: false }) : timeOfDay(t, { seconds: step < 60e6, millis: step < 1e6 }), x, area.y + area.height + 6);
    }
    c.stroke();
}

/** A vertical line at a time, if it is in view. @param {CanvasRenderingContext2D} c @param {any} area @param {{from: number, to: number}} view @param {number} time @param {string} colour @param {number[]} dash */
export function paintTime(c, area, view, time, colour, dash) {
    if (time < view.from || time > view.to) return;
    const x = Math.round(area.x + ((time - view.from) / (view.to - view.from)) * area.width) + 0.5;
    c.strokeStyle = colour;
    c.setLineDash(dash);
    c.beginPath();
    c.moveTo(x, area.y);
    c.lineTo(x, area.y + area.height);
    c.stroke();
    c.setLineDash([]);
}
