/** Coasts, borders and capitals, for maps without tiles and without the internet. The data are of Natural Earth. */

import { outline } from "../pure/world.js";
import { onThemeChange, token } from "../core/theme.js";

/** From this zoom on, so few outlines are in view that they say nothing. */
const LAST_ZOOM = 11;
/** Names are shown from this zoom on. */
const NAMES_ZOOM = 4;

/** @type {Promise<{lines: number[][], places: [string, number, number][]}>|null} */
let world = null;

function load() {
    world ??= fetch(new URL("./world.json", import.meta.url)).then((reply) => {
        if (!reply.ok) throw new Error(`world.json: ${reply.status}`);
        return reply.json();
    }).catch((error) => {
        world = null;
        throw error;
    });
    return world;
}

/** Adds the outlines to a map; returns a function that ends this. @param {any} L @param {any} map */
export function addWorld(L, map) {
    let isOver = false;
    let stopTheme = () => {};
    const names = L.layerGroup();
    load().then(({ lines, places }) => {
        if (isOver) return;
        const pane = map.createPane("world");
        pane.style.zIndex = "250";
        const renderer = L.canvas({ pane: "world" });
        // Leaflet may draw once more after the map was removed.
        const redraw = renderer._redraw;
        renderer._redraw = function redrawIfShown() { if (this._ctx) redraw.call(this); };
        const colours = () => ({ color: token("--text-3"), fillColor: token("--surface") });
        const land = L.polygon(lines.map((line) => [outline(line)]), { renderer, pane: "world", interactive: false, weight: 1, opacity: 0.55, fillOpacity: 0.75, smoothFactor: 0.5, ...colours() });
        stopTheme = onThemeChange(() => land.setStyle(colours()));
        for (const [name, lon, lat] of places) {
            L.circleMarker([lat, lon], { renderer, pane: "world", interactive: false, radius: 2, weight: 0, fillOpacity: 0.8, fillColor: token("--text-3") })
                .bindTooltip(name, { permanent: true, direction: "right", offset: [2, 0], className: "map-place", interactive: false }).addTo(names);
        }
        const show = () => {
            const zoom = map.getZoom();
            toggle(map, land, zoom < LAST_ZOOM);
            toggle(map, names, zoom >= NAMES_ZOOM && zoom < LAST_ZOOM);
        };
        map.on("zoomend", show);
        show();
        map.getContainer().dataset.world = String(lines.length);
    }).catch(() => {
        // The graticule remains.
    });
    return () => {
        isOver = true;
        stopTheme();
    };
}

function toggle(map, layer, isShown) {
    if (isShown) layer.addTo(map);
    else layer.remove();
}
