/** The areas that rules watch, as collectors report them. Pure functions. */

/**
 * @typedef {{name: string, center?: [number, number], radius?: number, polygon?: [number, number][]}} Place latitude and longitude in degrees, radius in m
 */

/** Returns the areas of all collectors by name; collectors with the same rules report the same ones. @param {{collectors: {places?: Record<string, any>}[]}|null} system @returns {Place[]} */
export function placesOf(system) {
    const all = (system?.collectors ?? []).flatMap(({ places }) => Object.entries(places ?? {}).map(([name, place]) => ({ name, ...place })));
    return [...new Map(all.map((place) => [JSON.stringify(place), place])).values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns corners whose edges take the short way around the earth. @param {[number, number][]} corners @returns {[number, number][]} */
export function unwrapped(corners) {
    let last = corners[0]?.[1] ?? 0;
    return corners.map(([lat, lon]) => {
        last = lon + 360 * Math.round((last - lon) / 360);
        return [lat, last];
    });
}
