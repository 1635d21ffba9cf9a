/** Dialogs of a session: its markers, its name and labels, and its deletion. */

import { formDialog } from "../core/dialog.js";
import { h } from "../core/dom.js";
import { dateTime } from "../pure/format.js";
import { labelChanges, labelsOf, labelsText } from "../pure/recording.js";
import { ask } from "./requests.js";

/** Returns the labels of a field. @param {HTMLInputElement} field */
export function readLabels(field) {
    const labels = labelsOf(field.value);
    if (!labels) throw new Error("Labels are KEY=VALUE, separated by commas, such as subject=7, shoes=new");
    return labels;
}

/**
 * @param {import("../pure/recording.js").Recording} session @param {import("../pure/recording.js").Marker} marker
 * @param {() => number|null} markOf the time that is marked in the plots @param {() => void} onsent
 */
export function askMarker(session, marker, markOf, onsent) {
    const origin = session.start ?? session.created;
    const number = (value, more = {}) => h("input", { class: "field num", type: "number", step: "any", value: value === undefined ? "" : String(value), ...more });
    const text = h("input", { class: "field", required: true, maxLength: 200, value: marker.text });
    const seconds = number((marker.t - origin) / 1e6, { required: true });
    const value = number(marker.value);
    const length = number(marker.duration_s, { min: "0" });
    const mark = markOf();
    const move = mark !== null && h("button", { class: "button", type: "button", onclick: () => { seconds.value = String((mark - origin) / 1e6); } }, `Move to the mark in the plots, ${dateTime(mark)}`);
    formDialog({ id: "marker-title", title: "Marker", action: "Save", fields: [
        h("label", null, "Text", text), h("label", null, "Seconds after the start", seconds), move, h("label", null, "Value, if it has one", value), h("label", null, "Length in s, of an interval", length)],
        async send() {
            await ask(session, "mark", { id: marker.id, t: Math.round(origin + Number(seconds.value) * 1e6), text: text.value.trim(), ...(marker.device ? { device: marker.device } : {}),
                ...(value.value === "" ? {} : { value: Number(value.value) }), ...(length.value === "" ? {} : { duration_s: Number(length.value) }) });
            onsent();
        } });
}

/** @param {import("../pure/recording.js").Recording} session @param {() => void} onsent */
export function askEdit(session, onsent) {
    const name = h("input", { class: "field", required: true, maxLength: 200, value: session.name });
    const labels = h("input", { class: "field", value: labelsText(session.labels), placeholder: "subject=7, shoes=new" });
    const note = h("input", { class: "field", maxLength: 900, value: session.note ?? "" });
    formDialog({ id: "edit-title", title: "Edit session", action: "Save", fields: [h("label", null, "Name", name), h("label", null, "Labels", labels), h("label", null, "Note", note)],
        async send() {
            await ask(session, "edit", { name: name.value.trim(), labels: labelChanges(session.labels, readLabels(labels)), note: note.value });
            onsent();
        } });
}

/** @param {import("../pure/recording.js").Recording} session */
export function askDelete(session) {
    formDialog({ id: "remove-title", title: `Delete ${session.name}?`, text: "Its name, labels, notes and markers are deleted. The samples of its devices stay.", action: "Delete",
        async send() {
            await ask(session, "delete");
            location.hash = "#/sessions";
        } });
}
