/** The streams of a device: newest values, their course, rate and age. A click plots one. */

import { isAbort, request, streamPath } from "../core/api.js";
import { now } from "../core/clock.js";
import { card, h, setText } from "../core/dom.js";
import { HISTORY_LENGTH, HISTORY_STEP } from "../core/fleet-store.js";
import { watchVisible } from "../core/frames.js";
import { Sparkline } from "../core/sparkline.js";
import { units } from "../core/units.js";
import { plottable, shownAtFirst } from "../pure/columns.js";
import { age, counted, rate, UNKNOWN } from "../pure/format.js";
import { Course, headingOf, valuesOf } from "../pure/streams.js";
import { compass } from "./compass.js";

/**
 * @param {{group: string, device: string}} address
 * @param {{onplot: (source: any) => void, onshow: () => void}} options `onshow` is called when the card comes into view
 */
export function streamsCard({ group, device }, { onplot, onshow }) {
    const { element, body, note } = card({ title: "Streams", id: "streams", className: "card-streams" });
    const rows = h("tbody");
    body.append(h("div", { class: "table-wrap" }, h("table", { class: "table streams" },
        h("thead", null, h("tr", null, ...["Stream", "Newest value", "Last 2 min", "Rate", "Age"].map((text) => h("th", { scope: "col" }, text)))), rows)));
    /** @type {Map<string, ReturnType<typeof streamRow>>} */
    const known = new Map();
    const abort = new AbortController();
    const visible = watchVisible(element, () => {
        loadCourses();
        onshow();
    });
    /** What was before the page was opened, of streams that nobody has seen yet. @type {{stream: string, column: string, course: Course}[]} */
    const waiting = [];
    let isLoading = false;

    function streamRow(entry) {
        const columns = plottable(entry);
        const main = shownAtFirst(entry.stream, columns)[0];
        const spark = main ? new Sparkline({ label: `${entry.stream}: ${main} over the last two minutes`, isRate: false }) : null;
        const dial = headingOf(entry) === undefined ? null : compass();
        const values = h("span");
        const hz = h("td", { class: "num" });
        const old = h("td", { class: "num" });
        let current = entry;
        const name = columns.length
            ? h("button", { class: "button quiet", type: "button", title: "Plot this stream", onclick: () => onplot({ group, device, stream: current.stream, rate: current.rate, columns }) }, entry.stream)
            : entry.stream;
        const line = h("tr", null, h("th", { scope: "row" }, name), h("td", { class: "stream-values num" }, dial?.element, values), h("td", null, spark?.canvas), hz, old);
        const course = new Course(HISTORY_LENGTH, HISTORY_STEP);
        if (main) waiting.push({ stream: entry.stream, column: main, course });
        return { line, update(next) {
            current = next;
            const newest = next.newest;
            const shown = valuesOf(next, units());
            if (values.children.length !== shown.length) values.replaceChildren(...shown.map(() => h("span", null, "", h("b"), "")));
            shown.forEach(({ name: column, text, unit }, i) => {
                const [label, value, end] = values.children[i].childNodes;
                if (label.data !== `${column} `) label.data = `${column} `;
                setText(value, text);
                if (end.data !== unit) end.data = unit && ` ${unit}`;
            });
            setText(hz, next.rate ? rate(next.rate) : UNKNOWN);
            setText(old, newest ? age((now() - newest.t) / 1e6) : UNKNOWN);
            dial?.update(headingOf(next));
            if (!spark) return;
            course.add(newest?.t ?? 0, newest?.values?.[main], now());
            spark.update(course.curve, String(course.version));
        } };
    }

    /** One after the other, because windows share the few connections of a browser. */
    async function loadCourses() {
        if (isLoading) return;
        isLoading = true;
        while (visible.visible && waiting.length) await loadCourse(/** @type {any} */ (waiting.shift()));
        isLoading = false;
    }

    async function loadCourse({ stream, column, course }) {
        const to = Math.floor(now() / HISTORY_STEP) * HISTORY_STEP;
        try {
            const reply = await request(streamPath(group, device, stream), { query: { from: to - HISTORY_LENGTH * HISTORY_STEP, to, every: `${HISTORY_STEP / 1e6}s` }, signal: abort.signal });
            const at = reply.columns.indexOf(column);
            if (at >= 0) for (const row of reply.rows) course.fill(row[0], row[at + 2]);
        } catch (error) {
            // Without a store, the curve begins now.
            if (!isAbort(error)) return;
        }
    }

    return {
        element,
        get isVisible() {
            return visible.visible;
        },
        /** @param {any[]} streams of the device's document */
        setStreams(streams) {
            if (!visible.visible && known.size === streams.length) return;
            for (const entry of streams) {
                let row = known.get(entry.stream);
                if (!row) {
                    row = streamRow(entry);
                    known.set(entry.stream, row);
                    rows.append(row.line);
                }
                row.update(entry);
            }
            setText(note, counted(streams.length, "stream"));
        },
        close() {
            abort.abort();
            visible.stop();
        },
    };
}
