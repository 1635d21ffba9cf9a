/** Devices that are close to each other on a map, and the part of the world that it shows. Pure functions. */

/**
 * Returns the points in groups: those of a square of the map are one group.
 * @template T
 * @param {{x: number, y: number, item: T}[]} points in pixels of the map @param {number} size of a square in pixels
 * @returns {T[][]}
 */
export function clustersOf(points, size) {
    /** @type {Map<string, T[]>} */
    const squares = new Map();
    for (const { x, y, item } of points) {
        const key = `${Math.floor(x / size)} ${Math.floor(y / size)}`;
        const square = squares.get(key);
        if (square) square.push(item);
        else squares.set(key, [item]);
    }
    return [...squares.values()];
}

/** Returns the part of the world that an address names; null if it has none that is valid. @param {URLSearchParams} query */
export function placeOf(query) {
    const [lat, lon, zoom] = ["lat", "lon", "zoom"].map((name) => (query.has(name) && query.get(name) !== "" ? Number(query.get(name)) : NaN));
    return Math.abs(lat) <= 90 && Math.abs(lon) <= 180 && zoom >= 0 && zoom <= 21 ? { lat, lon, zoom } : null;
}

/** Returns the parameters of a part of the world. @param {{lat: number, lon: number, zoom: number}} place @returns {[string, string][]} */
export function placeParameters({ lat, lon, zoom }) {
    // The map repeats beyond 180°.
    const around = ((((lon + 180) % 360) + 360) % 360) - 180;
    return [["lat", lat.toFixed(5)], ["lon", around.toFixed(5)], ["zoom", String(Math.round(zoom * 100) / 100)]];
}
