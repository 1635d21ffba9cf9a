/** Parallels and meridians with their coordinates: a map without tiles. */

import { onThemeChange, token } from "../core/theme.js";
import { latitude, longitude } from "../pure/format.js";
import { graticule } from "../pure/geo.js";

/**
 * Returns a Leaflet layer.
 * @param {any} L @param {{isBase: boolean}} options `isBase` if there are no tiles below
 */
export function graticuleLayer(L, { isBase }) {
    const Graticule = L.Layer.extend({
        onAdd(map) {
            this._canvas = L.DomUtil.create("canvas", "graticule leaflet-zoom-hide", map.getPanes().overlayPane);
            this._canvas.setAttribute("aria-hidden", "true");
            map.on("moveend zoomend resize viewreset move", this._draw, this);
            this._stop = onThemeChange(() => this._draw());
            this._draw();
        },
        onRemove(map) {
            map.off("moveend zoomend resize viewreset move", this._draw, this);
            this._stop();
            this._canvas.remove();
        },
        _draw() {
            const map = this._map;
            if (!map?._loaded) return;
            const size = map.getSize();
            const scale = Math.min(2, window.devicePixelRatio || 1);
            const canvas = this._canvas;
            if (canvas.width !== Math.round(size.x * scale) || canvas.height !== Math.round(size.y * scale)) {
                canvas.width = Math.round(size.x * scale);
                canvas.height = Math.round(size.y * scale);
                canvas.style.width = `${size.x}px`;
                canvas.style.height = `${size.y}px`;
            }
            L.DomUtil.setPosition(canvas, map.containerPointToLayerPoint([0, 0]));
            const c = canvas.getContext("2d");
            c.setTransform(scale, 0, 0, scale, 0, 0);
            c.clearRect(0, 0, size.x, size.y);
            paintGraticule(c, map, size, isBase);
        },
    });
    return new Graticule();
}

function paintGraticule(c, map, size, isBase) {
    const bounds = map.getBounds();
    const lats = graticule(Math.max(-85, bounds.getSouth()), Math.min(85, bounds.getNorth()), Math.max(2, size.y / 130));
    const lons = graticule(bounds.getWest(), bounds.getEast(), Math.max(2, size.x / 150));
    c.font = `11px ${token("--font")}`;
    c.strokeStyle = token("--line-strong");
    c.globalAlpha = isBase ? 0.75 : 0.35;
    c.lineWidth = 1;
    c.beginPath();
    const labels = [];
    for (const lat of lats.lines) {
        const y = Math.round(map.latLngToContainerPoint([lat, bounds.getCenter().lng]).y) + 0.5;
        c.moveTo(0, y);
        c.lineTo(size.x, y);
        if (y > 16 && y < size.y - 44) labels.push([latitude(Math.abs(lat) < 1e-9 ? 0 : lat, lats.decimals), 8, y - 8]);
    }
    for (const lon of lons.lines) {
        const x = Math.round(map.latLngToContainerPoint([bounds.getCenter().lat, lon]).x) + 0.5;
        c.moveTo(x, 0);
        c.lineTo(x, size.y);
        const wrapped = ((((lon + 180) % 360) + 360) % 360) - 180;
        if (x > 64 && x < size.x - 100) labels.push([longitude(Math.abs(wrapped) < 1e-9 ? 0 : wrapped, lons.decimals), x + 5, 12]);
    }
    c.stroke();
    c.globalAlpha = 1;
    if (!isBase) return;
    c.fillStyle = token("--text-3");
    c.textBaseline = "middle";
    for (const [text, x, y] of labels) c.fillText(text, x, y);
}
