/** The areas that rules watch, on all maps. */

import { h } from "../core/dom.js";
import { parts } from "../core/parts.js";
import { onThemeChange, token } from "../core/theme.js";
import { placesOf, unwrapped } from "../pure/areas.js";

/** Returns the shape of an area. @param {any} L @param {import("../pure/areas.js").Place} place @param {any} [style] */
export function shapeOf(L, place, style = {}) {
    return place.polygon ? L.polygon(unwrapped(place.polygon), style) : L.circle(place.center, { ...style, radius: place.radius });
}

/** Adds the areas to a map, also those of later reports; returns a function that ends this. @param {any} L @param {any} map */
export function addAreas(L, map) {
    const layer = L.layerGroup().addTo(map);
    let drawn = "";
    const draw = () => {
        const places = placesOf(parts.system);
        const colour = token("--accent");
        const text = colour + JSON.stringify(places);
        if (text === drawn) return;
        drawn = text;
        layer.clearLayers();
        for (const place of places) {
            shapeOf(L, place, { interactive: false, color: colour, weight: 1.5, dashArray: "5 4", fillColor: colour, fillOpacity: 0.07 })
                .bindTooltip(h("span", null, place.name), { permanent: true, direction: "center", className: "map-place map-area", interactive: false }).addTo(layer);
        }
    };
    parts.addEventListener("change", draw);
    const stopTheme = onThemeChange(draw);
    draw();
    return () => {
        parts.removeEventListener("change", draw);
        stopTheme();
    };
}
