/** Downloads of what the plots show: the samples of a stream as a file, or a plot as an image. */

import { streamPath } from "../core/api.js";
import { h, setText } from "../core/dom.js";
import { session } from "../core/session.js";
import { ofSession } from "../pure/comparison.js";
import { curlCommand, downloadAddress, fileName, formatsOf } from "../pure/download.js";
import { bytes, dateTime, duration } from "../pure/format.js";

/**
 * @param {import("./chart.js").Chart[]} charts @param {{from: number, to: number}} range @param {boolean} isOnCollectorTime
 */
export function askDownload(charts, range, isOnCollectorTime) {
    const choice = (options, onchange) => h("select", { onchange }, ...options.map(({ value, text }) => h("option", { value }, text)));
    const all = charts.flatMap((chart) => chart.curves.map(({ source }) => ({ chart, source })));
    const stream = choice(all.map(({ source }, i) => ({ value: String(i), text: `${source.device}: ${source.stream}${ofSession(source)}` })), () => changed(true));
    const format = choice([], () => changed(false));
    const link = h("code", { class: "download-link", tabIndex: 0 });
    const progress = h("p", { class: "message", role: "status", hidden: true });
    const start = h("button", { class: "button primary", type: "submit" }, "Download");
    const stop = h("button", { class: "button", type: "button", onclick: () => (abort ? abort.abort() : dialog.close()) }, "Close");
    const wrap = (text, field) => h("label", null, text, h("span", { class: "select" }, field));
    const command = h("div", null, h("p", { class: "hint" }, "The same from a terminal:"), link);
    const dialog = h("dialog", { class: "download", "aria-labelledby": "download-title", onclose: () => { abort?.abort(); dialog.remove(); } },
        h("h2", { id: "download-title" }, "Download"), h("p", { class: "muted num" }, `${dateTime(range.from)}, ${duration((range.to - range.from) / 1e6)}`),
        h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); download(); } }, wrap("Stream", stream), wrap("Format", format), command, progress, start, stop));
    /** @type {AbortController|null} */
    let abort = null;

    const chosen = () => all[Number(stream.value)];
    const path = ({ group, device, stream: name }) => streamPath(group, device, name);
    /** Samples of another session are at other times than they are shown. */
    const times = () => ({ from: range.from + (chosen().source.shift ?? 0), to: range.to + (chosen().source.shift ?? 0) });
    const isImage = () => format.value === "png";
    const name = () => fileName(chosen().source, times().from, format.value);
    const address = () => downloadAddress(location.origin, path(chosen().source), times(), format.value, isOnCollectorTime);

    function changed(isOther) {
        if (isOther) {
            const before = format.value;
            const formats = [...formatsOf(chosen().source.stream), { value: "png", text: "PNG image of the plot" }];
            format.replaceChildren(...formats.map(({ value, text }) => h("option", { value, selected: value === before }, text)));
        }
        command.hidden = isImage();
        if (!isImage()) setText(link, curlCommand(address(), name(), session.state.token_required));
    }

    function say(kind, text) {
        progress.dataset.kind = kind;
        progress.hidden = false;
        setText(progress, text);
    }

    async function download() {
        if (abort) return;
        abort = new AbortController();
        start.disabled = true;
        setText(stop, "Cancel");
        try {
            save(isImage() ? await chosen().chart.image() : await receive(abort.signal));
        } catch (error) {
            say("bad", abort.signal.aborted ? "The download was cancelled" : error.message);
        }
        abort = null;
        start.disabled = false;
        setText(stop, "Close");
    }

    /** @param {AbortSignal} signal */
    async function receive(signal) {
        const response = await fetch(address(), { signal });
        if (!response.ok || !response.body) throw new Error((await response.json().catch(() => ({}))).detail ?? `The server answers ${response.status}`);
        const reader = response.body.getReader();
        const pieces = [];
        let size = 0;
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return new Blob(pieces, { type: response.headers.get("Content-Type") ?? "" });
            pieces.push(value);
            size += value.length;
            say("info", `${bytes(size)} received`);
        }
    }

    /** @param {Blob} blob */
    function save(blob) {
        const url = URL.createObjectURL(blob);
        h("a", { href: url, download: name() }).click();
        setTimeout(() => URL.revokeObjectURL(url), 60_000);
        say("ok", `${name()}: ${bytes(blob.size)}`);
    }

    changed(true);
    document.body.append(dialog);
    dialog.showModal();
}
