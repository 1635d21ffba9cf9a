/** Leaflet, loaded when the first map is shown, and maps in the look of the page. */

import { h } from "../core/dom.js";
import { parts } from "../core/parts.js";
import { isOpenStreetMap, tileAttribution } from "../pure/geo.js";
import { onUnitsChange, units } from "../core/units.js";
import { prefersReducedMotion, token } from "../core/theme.js";
import { addAreas } from "./areas.js";
import { graticuleLayer } from "./graticule.js";
import { addWorld } from "./world.js";

let library = null;

/** @returns {Promise<any>} */
export function loadLeaflet() {
    library ??= Promise.all([import("/lib/leaflet/leaflet.esm.js"), loadStyle()]).then(([module]) => module).catch((error) => {
        library = null;
        throw error;
    });
    return library;
}

/** Before the styles of the page, which change some of it. */
function loadStyle() {
    return new Promise((resolve, reject) => {
        document.head.prepend(h("link", { rel: "stylesheet", href: "/lib/leaflet/leaflet.css", onload: resolve, onerror: () => reject(new Error("no styles")) }));
    });
}

/**
 * Returns a map. It has tiles if the server names some, else a graticule.
 * @param {any} L @param {HTMLElement} element
 */
export function createMap(L, element) {
    const isStill = prefersReducedMotion();
    const map = L.map(element, { zoomControl: false, attributionControl: false, preferCanvas: true, zoomSnap: 0.25, maxZoom: 21, worldCopyJump: true,
        zoomAnimation: !isStill, fadeAnimation: !isStill, inertia: !isStill });
    L.control.zoom({ position: "topright", zoomInTitle: "Zoom in", zoomOutTitle: "Zoom out" }).addTo(map);
    let scale = null;
    const showScale = () => {
        scale?.remove();
        const isImperial = units() === "imperial";
        scale = L.control.scale({ position: "bottomleft", imperial: isImperial, metric: !isImperial, maxWidth: 120 }).addTo(map);
    };
    showScale();
    map.on("unload", onUnitsChange(showScale));
    // A map that is shown first may be made before the server has named its tiles.
    const add = () => {
        if (!parts.system) return;
        parts.removeEventListener("change", add);
        if (map.getPane("mapPane")) addBase(L, map);
    };
    parts.addEventListener("change", add);
    add();
    return map;
}

function addBase(L, map) {
    const tiles = parts.system.tiles;
    if (tiles) {
        L.control.attribution({ prefix: false }).addTo(map);
        const layer = L.tileLayer(tiles, { maxZoom: 21, maxNativeZoom: 19, attribution: tileAttribution(tiles) });
        // OpenStreetMap refuses requests that do not name the site; its path stays private.
        if (isOpenStreetMap(tiles)) layer.on("tileloadstart", ({ tile }) => { tile.referrerPolicy = "origin"; });
        layer.addTo(map);
    } else {
        map.on("unload", addWorld(L, map));
    }
    graticuleLayer(L, { isBase: !tiles }).addTo(map);
    map.on("unload", addAreas(L, map));
}

/** Colours of a map, which Leaflet's canvas cannot read from the style sheet. */
export function mapColours() {
    return Object.fromEntries(["accent", "text-3", "surface", "state-active", "state-inactive", "state-background", "state-resumed", "state-terminated", "state-unknown", "bad", "warn"].map((name) => [name, token(`--${name}`)]));
}

/**
 * Removes a map after the next frame: Leaflet does not withdraw the frame that it has asked for, and would draw into what is gone.
 * @param {any} map
 */
export function removeMap(map) {
    requestAnimationFrame(() => map.remove());
}
