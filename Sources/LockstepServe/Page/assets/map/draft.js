/**
 * A new area: drawn on the map or typed, tested on the past, and shown as a part of a file of rules.
 *
 * It is loaded when it is needed, so it has copies of what it imports: only what has no state of the page.
 */

import { h, segmented, select, setText } from "../core/dom.js";
import { cornerOf, cornersNear, cornersOf, edgeOf, freeName, isArea, ruleText } from "../pure/draft.js";
import { counted } from "../pure/format.js";

const TIMES = [{ value: "-7d", text: "the past 7 d" }, { value: "-1d", text: "the past 24 h" }];

/**
 * @param {any} L @param {any} map
 * @param {{request: typeof import("../core/api.js").request, shapeOf: typeof import("./areas.js").shapeOf, timeText: (micros: number) => string, names: string[], colour: string, onclose: () => void}} page `names` are those of the present areas
 */
export function openDraft(L, map, { request, shapeOf, timeText, names, colour, onclose }) {
    /** @type {import("../pure/draft.js").Draft} */
    const draft = { name: freeName(names), corners: [cornerOf(map.getCenter())], radius: radiusInView(), when: "enter" };
    const layer = L.layerGroup().addTo(map);
    let shape = null;
    let time = TIMES[0];
    /** The test that runs: a change cancels it. @type {AbortController|null} */
    let running = null;

    const field = (label, props) => {
        const input = h("input", { class: "field num", required: true, oninput: read, ...props });
        return { input, element: h("label", null, label, input) };
    };
    const name = field("Name", { class: "field", value: draft.name, maxLength: 57, pattern: "[A-Za-z0-9_.\\-]+" });
    const lat = field("Latitude", { type: "number", step: "any", min: -90, max: 90 });
    const lon = field("Longitude", { type: "number", step: "any", min: -180, max: 180 });
    const radius = field("Radius in m", { type: "number", step: "any", min: 1, max: 1e6 });
    const list = h("textarea", { class: "field num", rows: 5, spellcheck: false, oninput: read });
    const corners = h("label", { hidden: true }, "Corners: latitude and longitude, one a line", list);
    const circle = h("div", { class: "map-draft-circle" }, lat.element, lon.element, radius.element);
    const hint = h("p", { class: "hint" });
    const kind = segmented({ label: "Shape", value: "circle", options: [{ value: "circle", text: "Circle" }, { value: "polygon", text: "Polygon" }], onchange: (value) => {
        draft.corners = value === "circle" ? [draft.corners[0] ?? cornerOf(map.getCenter())] : [];
        draft.radius = value === "circle" ? radiusInView() : null;
        changed();
    } });
    const when = select({ label: "Condition", value: draft.when, options: [{ value: "enter", text: "When a device enters it" }, { value: "leave", text: "When a device leaves it" }], onchange: (value) => { draft.when = value; changed(true); } });
    const span = select({ label: "Tested time", value: time.value, options: TIMES, onchange: (value) => { time = TIMES.find((each) => each.value === value) ?? time; changed(true); } });
    const result = h("div", { role: "status" });
    const text = h("code", { class: "download-link map-draft-rule", tabIndex: 0 });
    const test = h("button", { class: "button primary", type: "submit" }, "Test");
    const copy = h("button", { class: "button", type: "button", onclick: async () => {
        // Browsers give pages without HTTPS no clipboard.
        const isCopied = await navigator.clipboard?.writeText(text.textContent).then(() => true, () => false);
        if (!isCopied) getSelection()?.selectAllChildren(text);
        setText(copy, isCopied ? "Copied" : "Selected: press Ctrl+C");
    } });
    const element = h("section", { class: "map-draft", "aria-labelledby": "draft-title" }, h("h2", { id: "draft-title" }, "New area"),
        h("form", { onsubmit: (event) => { event.preventDefault(); run(); } }, name.element, kind.element, hint, circle, corners, when, h("div", { class: "map-draft-test" }, test, span), result, text,
            h("p", { class: "hint" }, "Put these lines under places and rules of the file of the collector's rules, and send the collector SIGHUP. Without to, it only records the events."), h("div", { class: "map-draft-test" }, copy, h("button", { class: "button", type: "button", onclick: onclose }, "Close"))));

    /** A quarter of the height in view, as a number that is easily read. */
    function radiusInView() {
        const metres = map.getCenter().distanceTo(L.latLng(map.getBounds().getNorth(), map.getCenter().lng)) / 2;
        return Math.min(1e6, Math.max(1, Number(metres.toPrecision(1))));
    }

    /** Takes what is typed. */
    function read() {
        draft.name = name.input.value;
        if (draft.radius === null) draft.corners = cornersOf(list.value).corners;
        else [draft.corners, draft.radius] = [[[lat.input.valueAsNumber, lon.input.valueAsNumber]], radius.input.valueAsNumber];
        changed(true);
    }

    /** @param {boolean} [isTyped] whether the fields have it already @param {boolean} [isDragged] whether a handle is on its way */
    function changed(isTyped = false, isDragged = false) {
        running?.abort();
        running = null;
        const isCircle = draft.radius !== null;
        circle.hidden = !isCircle;
        corners.hidden = isCircle;
        for (const input of circle.querySelectorAll("input")) input.disabled = !isCircle;
        if (!isTyped && isCircle) [lat.input.value, lon.input.value, radius.input.value] = [...draft.corners[0], draft.radius].map(String);
        else if (!isTyped) list.value = draft.corners.map((corner) => corner.join(", ")).join("\n");
        const problem = isCircle ? "" : cornersOf(list.value).problem;
        list.setCustomValidity(problem);
        setText(hint, problem || (isCircle ? "Click on the map to move it; drag the handle to resize it." : "Click on the map to add a corner; drag a handle to move it."));
        const isValid = !problem && isArea(draft) && name.input.validity.valid;
        test.disabled = copy.disabled = !isValid;
        setText(text, isValid ? ruleText(draft) : "");
        setText(copy, "Copy");
        result.replaceChildren();
        drawShape();
        if (!isDragged) drawHandles();
    }

    /** The map goes on after a turn around the earth. */
    function cornersInView() {
        return cornersNear(draft.corners, map.getCenter().lng);
    }

    function drawShape() {
        shape?.remove();
        const drawn = cornersInView();
        shape = isArea(draft) ? shapeOf(L, { name: "", ...(draft.radius === null ? { polygon: drawn } : { center: drawn[0], radius: draft.radius }) }, { interactive: false, color: colour, weight: 2, fillColor: colour, fillOpacity: 0.15 }).addTo(map) : null;
    }

    function drawHandles() {
        layer.clearLayers();
        if (draft.radius !== null && !isArea(draft)) return;
        const drawn = cornersInView();
        drawn.forEach((corner, i) => handle(corner, (place) => { draft.corners[i] = cornerOf(place); }));
        if (draft.radius !== null) handle(edgeOf(drawn[0], draft.radius), (place) => { draft.radius = Math.min(1e6, Math.max(1, Math.round(map.distance(draft.corners[0], place)))); });
    }

    /** @param {[number, number]} corner @param {(place: any) => void} move */
    function handle(corner, move) {
        const marker = L.marker(corner, { draggable: !list.validationMessage, keyboard: false, icon: L.divIcon({ className: "map-handle", iconSize: [18, 18] }) }).addTo(layer);
        marker.on("drag", () => { move(marker.getLatLng()); changed(false, true); });
        marker.on("dragend", () => changed());
    }

    async function run() {
        const own = new AbortController();
        running = own;
        test.disabled = true;
        result.replaceChildren(`Testing ${time.text}`);
        let found;
        try {
            found = resultOf(await request("/rules/test", { query: { corners: draft.corners.join(","), radius: draft.radius, when: draft.when, from: time.value }, signal: own.signal }));
        } catch (error) {
            found = [h("p", { class: "message", data: { kind: "bad" } }, error.message)];
        }
        if (running !== own) return;
        running = null;
        test.disabled = false;
        result.replaceChildren(...found);
        if (document.activeElement === document.body) test.focus();
    }

    /** @param {{count: number, positions: number, first: number, is_cut: boolean, devices: {device: string, count: number}[]}} found */
    function resultOf({ count, positions, first, is_cut: isCut, devices }) {
        if (!positions) return [h("p", null, isCut ? "Too many positions in this time" : "No positions in this time")];
        const own = devices.filter((device) => device.count);
        return [h("p", null, `${counted(count, "time")} in ${counted(positions, "position")} of ${counted(devices.length, "device")} since ${timeText(first)}${isCut ? ". There are too many to read the earlier ones" : ""}`),
            h("ul", null, ...own.slice(0, 50).map(({ device, count: times }) => h("li", null, h("a", { href: `#/device/${device}` }, device), ` ${times}`)), own.length > 50 && h("li", null, `and ${own.length - 50} more`))];
    }

    const click = ({ latlng, originalEvent }) => {
        // A double click is one corner, and faulty lines are not overwritten.
        if (originalEvent.detail > 1 || list.validationMessage) return;
        draft.corners = draft.radius === null ? [...draft.corners, cornerOf(latlng)] : [cornerOf(latlng)];
        changed();
    };
    map.doubleClickZoom.disable();
    map.on("click", click);
    changed();
    return { element, focus: () => name.input.select(), close() {
        running?.abort();
        running = null;
        map.doubleClickZoom.enable();
        map.off("click", click);
        shape?.remove();
        layer.remove();
        element.remove();
    } };
}
