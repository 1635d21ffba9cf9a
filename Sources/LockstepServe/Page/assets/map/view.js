/** A map of all devices that have a position. */

import { request } from "../core/api.js";
import { arrange, emptyState, h, setText } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { now } from "../core/clock.js";
import { parts } from "../core/parts.js";
import { routeTo, showInAddress } from "../core/router.js";
import { onThemeChange } from "../core/theme.js";
import { announce } from "../core/shell.js";
import { stateBadge, stateWord } from "../core/states.js";
import { onUnitsChange, units } from "../core/units.js";
import { placesOf } from "../pure/areas.js";
import { clustersOf, placeOf, placeParameters } from "../pure/clusters.js";
import { age, counted, fixed, nearTime, position, whole } from "../pure/format.js";
import { shownUnit } from "../pure/imperial.js";
import { shapeOf } from "./areas.js";
import { createMap, loadLeaflet, mapColours, removeMap } from "./leaflet.js";

/** Positions older than this are drawn faint, in µs. */
const OLD = 120e6;

/** With more devices than this, those that are close to each other are one mark. */
const SINGLE = 60;
/** The side of the square whose devices are one mark, in pixels. */
const SQUARE = 64;
/** From this zoom on, each device is a mark. */
const LAST_ZOOM = 17;
/** Devices in the list. */
const LISTED = 200;

/** @param {HTMLElement} main @param {{query: URLSearchParams}} route */
export function show(main, { query }) {
    const element = h("div", { class: "map-canvas", role: "region", "aria-label": "Map of all devices" });
    const note = h("p", { class: "map-note" });
    const list = h("ul", { class: "map-list", "aria-label": "Devices with a position" });
    const rest = h("p", { class: "map-note map-rest", hidden: true });
    const areas = h("div", { class: "map-areas", hidden: true });
    const newArea = h("button", { class: "button", type: "button", hidden: true, onclick: openDraft }, "New area");
    let draft = null;
    let shownAreas = "";
    const notice = h("div", { class: "overlay", hidden: true });
    const side = h("aside", { class: "map-side" }, h("h2", null, "Positions"), note, list, rest, areas, h("div", { class: "map-new" }, newArea));
    main.append(h("div", { class: "view view-map" }, h("h1", { class: "visually-hidden" }, "Map"), h("div", { class: "map-frame" }, element, notice), side));
    /** @type {Map<string, any>} */
    const markers = new Map();
    /** Marks of several devices, by the names of these. @type {Map<string, any>} */
    const groups = new Map();
    const chosen = placeOf(query);
    let isMovedByPage = true;
    /** @type {Map<string, any>} */
    const items = new Map();
    let map = null;
    let L = null;
    let isFitted = false;
    let isOver = false;
    let colours = mapColours();
    const stopTheme = onThemeChange(() => {
        colours = mapColours();
        update();
    });

    loadLeaflet().then((library) => {
        if (isOver) return;
        L = library;
        map = createMap(L, element);
        map.setView(chosen ? [chosen.lat, chosen.lon] : [0, 0], chosen?.zoom ?? 2);
        isFitted = chosen !== null;
        isMovedByPage = false;
        newArea.hidden = false;
        // After the view, the map may still be on its way. In a window of another size, the map shows another part of the world.
        let isResized = false;
        map.on("resize", () => { isResized = true; });
        map.on("moveend", () => {
            if (isOver) return;
            if (!isMovedByPage && !isResized) showInAddress(placeParameters({ ...map.getCenter(), lon: map.getCenter().lng, zoom: map.getZoom() }));
            isResized = false;
            update();
        });
        update();
    }).catch(() => fail("Map not available", "Leaflet is not installed on the server: install the Debian package libjs-leaflet there."));

    function fail(title, text) {
        notice.hidden = false;
        notice.replaceChildren(emptyState({ symbol: "map", title, text }));
    }

    function update() {
        const located = fleet.sorted().filter(({ device }) => device.position);
        const without = fleet.entries.size - located.length;
        setText(note, fleet.hasLoaded ? `${whole(located.length)} with a position${without ? `, ${whole(without)} without` : ""}` : "Loading");
        if (!map) return updateList(located);
        if (!isFitted && located.length) {
            isFitted = true;
            isMovedByPage = true;
            map.fitBounds(L.latLngBounds(located.map(({ device }) => [device.position.lat, device.position.lon])), { padding: [50, 50], maxZoom: 17, animate: false });
            isMovedByPage = false;
        }
        updateMarks(located);
        // A list of all devices does not depend on the part of the world.
        updateList(located.length <= LISTED ? located : located.filter(({ device }) => map.getBounds().contains([device.position.lat, device.position.lon])));
        if (fleet.hasLoaded && !located.length) fail("No positions yet", "Devices appear on the map with their first fix. A device needs a location source, such as gpsd.");
        else if (located.length) notice.hidden = true;
    }

    function updateMarks(located) {
        const isSingle = located.length <= SINGLE || map.getZoom() >= LAST_ZOOM;
        const clusters = isSingle ? located.map((entry) => [entry])
            : clustersOf(located.map((item) => ({ ...map.project([item.device.position.lat, item.device.position.lon]), item })), SQUARE);
        const single = new Set();
        const several = new Set();
        for (const entries of clusters) {
            if (entries.length === 1) {
                single.add(place(entries[0].device, entries[0].severity));
            } else several.add(placeGroup(entries));
        }
        remove(markers, single);
        remove(groups, several);
    }

    /** Removes the marks that are not needed. @param {Map<string, any>} marks @param {Set<string>} needed */
    function remove(marks, needed) {
        for (const [key, mark] of marks) {
            if (needed.has(key)) continue;
            mark.remove();
            marks.delete(key);
        }
    }

    /** A mark with the number of devices, which zooms to them. Returns its name. @param {import("../pure/selection.js").Entry[]} entries */
    function placeGroup(entries) {
        const places = entries.map(({ device }) => [device.position.lat, device.position.lon]);
        const hasProblems = entries.some(({ severity }) => severity === 2);
        const key = `${entries.length} ${hasProblems} ${entries[0].device.group}/${entries[0].device.device} ${map.getZoom()}`;
        const center = [0, 1].map((i) => places.reduce((sum, place) => sum + place[i], 0) / places.length);
        const text = `${counted(entries.length, "device")}${hasProblems ? ", some with problems" : ""}: zoom in`;
        let group = groups.get(key);
        if (!group) {
            const size = entries.length < 100 ? 32 : 42;
            group = L.marker(center, { icon: L.divIcon({ className: "map-group", html: `<span${hasProblems ? " data-bad" : ""}>${whole(entries.length)}</span>`, iconSize: [size, size] }), title: text, alt: text }).addTo(map);
            group.on("click", () => map.fitBounds(L.latLngBounds(group.places), { padding: [60, 60], maxZoom: LAST_ZOOM }));
            groups.set(key, group);
        }
        group.places = places;
        group.setLatLng(center);
        return key;
    }

    function place(device, severity) {
        const key = `${device.group}/${device.device}`;
        const { lat, lon, t } = device.position;
        const isOld = now() - t > OLD;
        const style = { radius: severity === 2 ? 8 : 6.5, weight: 2, color: severity === 2 ? colours.bad : colours.surface, fillColor: colours[`state-${device.state ?? "unknown"}`], fillOpacity: isOld ? 0.45 : 1, opacity: isOld ? 0.6 : 1 };
        let marker = markers.get(key);
        if (!marker) {
            marker = L.circleMarker([lat, lon], style).addTo(map);
            marker.bindTooltip("", { direction: "top", offset: [0, -8], className: "map-tip" });
            marker.on("click", () => {
                // Otherwise it is a click on the place.
                if (!draft) location.hash = routeTo("device", device.group, device.device);
            });
            markers.set(key, marker);
        }
        marker.setLatLng([lat, lon]);
        marker.setStyle(style);
        marker.setTooltipContent(`${device.device} · ${stateWord(device.state)} · ${age((now() - t) / 1e6)}`);
        return key;
    }

    /** @param {import("../pure/selection.js").Entry[]} located those in view, if there is a map */
    function updateList(located) {
        const listed = new Map();
        rest.hidden = located.length <= LISTED;
        setText(rest, `${whole(located.length - LISTED)} more${map ? " in view: zoom in, or" : ":"} search in Fleet`);
        for (const { device } of located.slice(0, LISTED)) {
            const key = `${device.group}/${device.device}`;
            let item = items.get(key);
            if (!item) {
                const badge = stateBadge();
                const text = h("span", { class: "map-item-text num" });
                const element = h("li", null, h("button", { class: "map-item", type: "button", onclick: () => focusOn(key) }, h("span", { class: "map-item-name" }, device.device), badge.element, text));
                item = { element, badge, text };
                items.set(key, item);
            }
            listed.set(key, item.element);
            item.badge.update(device.state);
            setText(item.text, `${position(device.position.lat, device.position.lon, 4)} · ${age((now() - device.position.t) / 1e6)}`);
        }
        arrange(list, [...listed.values()]);
        for (const key of items.keys()) if (!listed.has(key)) items.delete(key);
    }

    /** The areas that rules watch, each with a button that shows it. */
    function updateAreas() {
        const places = placesOf(parts.system);
        const text = JSON.stringify([units(), places]);
        if (text === shownAreas) return;
        shownAreas = text;
        areas.hidden = !places.length;
        areas.replaceChildren(h("h2", null, "Areas of rules"), h("ul", null, ...places.map((place) => h("li", null, h("button", { class: "map-item", type: "button", onclick: () => map?.fitBounds(shapeOf(L, place).addTo(map).remove().getBounds(), { padding: [30, 30], maxZoom: 18 }) },
            h("span", { class: "map-item-name" }, place.name), h("span", { class: "map-item-text num" }, place.polygon ? counted(place.polygon.length, "corner") : `${length(place.radius)} around ${position(place.center[0], place.center[1], 4)}`))))));
    }

    /** Begins an area that a rule may watch. Few people need it, so it is loaded with the first one. */
    async function openDraft() {
        newArea.disabled = true;
        const module = await import("/assets/map/draft.js").catch(() => null);
        newArea.disabled = false;
        if (isOver) return;
        setText(newArea, module ? "New area" : "New area: the server does not answer, try again");
        if (!module) {
            newArea.focus();
            return announce(newArea.textContent);
        }
        const names = placesOf(parts.system).map(({ name }) => name);
        draft = module.openDraft(L, map, { request, shapeOf, timeText: (micros) => nearTime(micros, now(), { seconds: false }), names, colour: colours.warn, onclose: () => {
            draft.close();
            draft = null;
            newArea.focus();
        } });
        side.append(draft.element);
        draft.focus();
    }

    function focusOn(key) {
        const device = fleet.entries.get(key)?.device;
        if (!map || !device?.position) return;
        map.setView([device.position.lat, device.position.lon], Math.max(map.getZoom(), 17));
        markers.get(key)?.openTooltip();
    }

    fleet.addEventListener("change", update);
    parts.addEventListener("change", updateAreas);
    const stopUnits = onUnitsChange(updateAreas);
    updateAreas();
    update();
    return { title: "Map", leave() {
        isOver = true;
        fleet.removeEventListener("change", update);
        parts.removeEventListener("change", updateAreas);
        stopTheme();
        stopUnits();
        if (map) removeMap(map);
    } };
}

/** @param {number} metres */
function length(metres) {
    const { unit, factor } = shownUnit("m", units());
    return `${fixed(metres * factor)} ${unit}`;
}
