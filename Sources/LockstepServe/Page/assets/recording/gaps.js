/** The times without samples in a session that has ended: of which device and stream, and about how many samples. */

import { request } from "../core/api.js";
import { card, h } from "../core/dom.js";
import { counted, dateTime, duration, fixed } from "../pure/format.js";
import { gapsOf, isRunning } from "../pure/recording.js";
import { sessionPath } from "./requests.js";

/** More are only counted. */
const MAX_LISTED = 200;

/** @param {{onshow: (t: number) => void}} options */
export function gapsCard({ onshow }) {
    const { element, body, note } = card({ title: "Gaps", id: "gaps", className: "card-gaps" });
    const list = h("ul", { class: "markers gaps", "aria-label": "Times without samples" });
    body.append(list);
    element.hidden = true;
    let known = "";
    return { element, /** @param {import("../pure/recording.js").Recording} session */ async update(session) {
        // All samples are read for this. After the end they change only with what is known of the devices.
        const text = isRunning(session) ? "" : JSON.stringify([session.state, session.start, session.end, session.devices]);
        if (text === known) return;
        known = text;
        if (!text) {
            element.hidden = true;
            return;
        }
        try {
            const { streams } = await request(sessionPath(session.group, session.id), { query: { gaps: "true" } });
            if (text !== known) return;
            const gaps = gapsOf(streams);
            element.hidden = !gaps.length;
            note.textContent = counted(gaps.length, "time") + " without samples";
            list.replaceChildren(...gaps.slice(0, MAX_LISTED).map((gap) => h("li", { class: "marker" },
                h("button", { class: "button quiet num", type: "button", title: dateTime(gap.from), "aria-label": `Show the gap of ${gap.device} in the plots`, onclick: () => onshow(gap.from) }, `${fixed((gap.from - session.start) / 1e6, 3)} s`),
                h("span", { class: "marker-text" }, gap.device, ...[gap.stream, `for ${duration((gap.to - gap.from) / 1e6)}`, `about ${counted(gap.count, "sample")}`].map((part) => h("span", { class: "muted num" }, part))))));
        } catch (error) {
            if (text !== known) return;
            // Tried again with the next state: the server may be busy.
            known = "";
            element.hidden = false;
            note.textContent = `Not known: ${error.message}`;
            list.replaceChildren();
        }
    } };
}
