/** A map of all devices that have a position. */

import { emptyState, h, setText } from "../core/dom.js";
import { fleet } from "../core/fleet-store.js";
import { now } from "../core/clock.js";
import { routeTo } from "../core/router.js";
import { onThemeChange } from "../core/theme.js";
import { stateBadge, stateWord } from "../core/states.js";
import { age, position } from "../pure/format.js";
import { createMap, loadLeaflet, mapColours, removeMap } from "./leaflet.js";

/** Positions older than this are drawn faint, in µs. */
const OLD = 120e6;

/** @param {HTMLElement} main */
export function show(main) {
    const element = h("div", { class: "map-canvas", role: "region", "aria-label": "Map of all devices" });
    const note = h("p", { class: "map-note" });
    const list = h("ul", { class: "map-list", "aria-label": "Devices with a position" });
    const notice = h("div", { class: "overlay", hidden: true });
    main.append(h("div", { class: "view view-map" }, h("h1", { class: "visually-hidden" }, "Map"), h("div", { class: "map-frame" }, element, notice),
        h("aside", { class: "map-side" }, h("h2", null, "Positions"), note, list)));
    /** @type {Map<string, any>} */
    const markers = new Map();
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
        map.setView([0, 0], 2);
        update();
    }).catch(() => fail("Map not available", "Leaflet is not installed on the server: install the Debian package libjs-leaflet there."));

    function fail(title, text) {
        notice.hidden = false;
        notice.replaceChildren(emptyState({ symbol: "map", title, text }));
    }

    function update() {
        const located = [...fleet.entries.values()].filter(({ device }) => device.position);
        const without = fleet.entries.size - located.length;
        setText(note, fleet.hasLoaded ? `${located.length} with a position${without ? `, ${without} without` : ""}` : "Loading");
        updateList(located);
        if (!map) return;
        for (const { device, severity } of located) place(device, severity);
        for (const [key, marker] of markers) {
            if (!fleet.entries.get(key)?.device.position) {
                marker.remove();
                markers.delete(key);
            }
        }
        if (!isFitted && located.length) {
            isFitted = true;
            map.fitBounds(L.latLngBounds(located.map(({ device }) => [device.position.lat, device.position.lon])), { padding: [50, 50], maxZoom: 17, animate: false });
        }
        if (fleet.hasLoaded && !located.length) fail("No positions yet", "Devices appear on the map with their first fix. A device needs a location source, such as gpsd.");
        else if (located.length) notice.hidden = true;
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
            marker.on("click", () => { location.hash = routeTo("device", device.group, device.device); });
            markers.set(key, marker);
        }
        marker.setLatLng([lat, lon]);
        marker.setStyle(style);
        marker.setTooltipContent(`${device.device} · ${stateWord(device.state)} · ${age((now() - t) / 1e6)}`);
    }

    function updateList(located) {
        for (const { device } of located.slice(0, 200)) {
            const key = `${device.group}/${device.device}`;
            let item = items.get(key);
            if (!item) {
                const badge = stateBadge();
                const text = h("span", { class: "map-item-text num" });
                const element = h("li", null, h("button", { class: "map-item", type: "button", onclick: () => focusOn(key) }, h("span", { class: "map-item-name" }, device.device), badge.element, text));
                item = { element, badge, text };
                items.set(key, item);
                list.append(element);
            }
            item.badge.update(device.state);
            setText(item.text, `${position(device.position.lat, device.position.lon, 4)} · ${age((now() - device.position.t) / 1e6)}`);
        }
    }

    function focusOn(key) {
        const device = fleet.entries.get(key)?.device;
        if (!map || !device?.position) return;
        map.setView([device.position.lat, device.position.lon], Math.max(map.getZoom(), 17));
        markers.get(key)?.openTooltip();
    }

    fleet.addEventListener("change", update);
    update();
    return { title: "Map", leave() {
        isOver = true;
        fleet.removeEventListener("change", update);
        stopTheme();
        if (map) removeMap(map);
    } };
}
