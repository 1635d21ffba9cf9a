/** Draws the markers of a session: a line with its text, and the length of an interval. */

import { paintTime } from "./frame-painter.js";

/**
 * @param {CanvasRenderingContext2D} c @param {{x: number, y: number, width: number, height: number}} area @param {{from: number, to: number}} view
 * @param {import("../pure/recording.js").Marker[]} markers in order of time @param {{text: string, selection: string, font: string}} colours
 */
export function paintMarkers(c, area, view, markers, colours) {
    const perMicro = area.width / (view.to - view.from);
    let free = area.x;
    c.font = colours.font;
    c.textAlign = "left";
    c.textBaseline = "top";
    c.lineWidth = 1;
    for (const { t, text, duration_s: length } of markers) {
        const end = t + (length ?? 0) * 1e6;
        if (end < view.from || t > view.to) continue;
        const x = area.x + (Math.max(t, view.from) - view.from) * perMicro;
        c.fillStyle = colours.selection;
        if (length) {
            c.globalAlpha = 0.14;
            c.fillRect(x, area.y, (Math.min(end, view.to) - Math.max(t, view.from)) * perMicro, area.height);
            c.globalAlpha = 1;
        }
        paintTime(c, area, view, t, colours.selection, [4, 2]);
        // Texts that would lie on each other are left out: the list has them.
        if (x + 4 < free || t < view.from) continue;
        c.fillText(text, x + 4, area.y + 2);
        free = x + 10 + c.measureText(text).width;
    }
}
