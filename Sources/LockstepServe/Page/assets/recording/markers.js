/** The markers of a session: a list, in which each can be shown in the plots and edited. */

import { card, h } from "../core/dom.js";
import { dateTime, duration, fixed } from "../pure/format.js";
import { askMarker } from "./dialogs.js";

/** @param {{canEdit: boolean, onshow: (t: number) => void, markOf: () => number|null, onsent: () => void}} options */
export function markersCard({ canEdit, onshow, markOf, onsent }) {
    const { element, body, note } = card({ title: "Markers", id: "markers", className: "card-markers" });
    const list = h("ul", { class: "markers", "aria-label": "Markers" });
    body.append(list);
    let known = "";
    return { element, /** @param {import("../pure/recording.js").Recording} session */ update(session) {
        const text = JSON.stringify([session.markers, session.start]);
        if (text === known) return;
        known = text;
        const origin = session.start ?? session.created;
        note.textContent = session.markers.length ? "" : "None yet";
        list.replaceChildren(...session.markers.map((marker) => h("li", { class: "marker" },
            h("button", { class: "button quiet num", type: "button", title: dateTime(marker.t), "aria-label": `Show ${marker.text} in the plots`, onclick: () => onshow(marker.t) }, `${fixed((marker.t - origin) / 1e6, 3)} s`),
            h("span", { class: "marker-text" }, marker.text, ...[marker.device, marker.value, marker.duration_s === undefined ? undefined : duration(marker.duration_s)].filter((value) => value !== undefined).map((value) => h("span", { class: "muted num" }, String(value)))),
            canEdit && h("button", { class: "button quiet", type: "button", "aria-label": `Edit ${marker.text}`, onclick: () => askMarker(session, marker, markOf, onsent) }, "Edit"))));
    } };
}
